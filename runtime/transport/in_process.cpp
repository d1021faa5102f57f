#include "runtime/transport/in_process.h"

#include <condition_variable>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>

#include "trace/error.h"

namespace pipetrace {

struct InProcessHub::State {
  using Box = std::tuple<int, int, MessageKey>;  // from, to, which

  explicit State(int size) : worldSize(size) {}

  const int worldSize;
  std::mutex mutex;
  std::condition_variable changed;
  std::map<Box, Message> boxes;
  std::map<int, std::string> failures;  // by rank
  int firstFailed = -1;
  int finished = 0;

  void fail(int rank, const std::string& reason) {
    const std::lock_guard lock(mutex);
    if (failures.emplace(rank, reason).second && firstFailed < 0) firstFailed = rank;
    changed.notify_all();
  }

  // Every rank of a pipeline needs all others in the end, so the first failure ends all waits.
  void throwIfFailed(int rank, const std::string& what) const {
    if (const auto own = failures.find(rank); own != failures.end()) {
      throw Error("rank " + std::to_string(rank) + " gave up " + what + ": " + own->second);
    }
    if (firstFailed < 0) return;
    throw Error("rank " + std::to_string(rank) + " gave up " + what + ": rank " +
                std::to_string(firstFailed) + " failed: " + failures.at(firstFailed));
  }
};

class InProcessTransport : public Transport {
 public:
  InProcessTransport(InProcessHub::State& state, int rank) : state_(state), rank_(rank) {}

  ~InProcessTransport() override {
    if (!finished_) state_.fail(rank_, "it ended before all ranks had finished");
  }

  int rank() const override { return rank_; }
  int worldSize() const override { return state_.worldSize; }

  SendCompletion send(int to, const MessageKey& key, Message message) override {
    checkPeer(to);
    const std::lock_guard lock(state_.mutex);
    state_.throwIfFailed(rank_, "sending " + toText(key));
    if (!state_.boxes.emplace(std::tuple(rank_, to, key), std::move(message)).second) {
      throw Error("rank " + std::to_string(rank_) + " sent " + toText(key) + " twice");
    }
    state_.changed.notify_all();
    return [] {};
  }

  Message recv(int from, const MessageKey& key) override {
    checkPeer(from);
    const std::tuple box(from, rank_, key);
    std::unique_lock lock(state_.mutex);
    while (!state_.boxes.contains(box)) {
      state_.throwIfFailed(rank_,
                           "waiting for " + toText(key) + " from rank " + std::to_string(from));
      state_.changed.wait(lock);
    }
    return std::move(state_.boxes.extract(box).mapped());
  }

  void abort(const std::string& reason) noexcept override { state_.fail(rank_, reason); }

  void finish() override {
    std::unique_lock lock(state_.mutex);
    ++state_.finished;
    state_.changed.notify_all();
    while (state_.finished < state_.worldSize) {
      state_.throwIfFailed(rank_, "waiting for the others to finish");
      state_.changed.wait(lock);
    }
    finished_ = true;
  }

 private:
  void checkPeer(int peer) const {
    if (peer >= 0 && peer < state_.worldSize && peer != rank_) return;
    throw Error("rank " + std::to_string(rank_) + " has no peer " + std::to_string(peer) +
                " among " + std::to_string(state_.worldSize) + " ranks");
  }

  InProcessHub::State& state_;
  const int rank_;
  bool finished_ = false;
};

InProcessHub::InProcessHub(int worldSize) : state_(std::make_unique<State>(worldSize)) {
  if (worldSize < 1) throw Error("a pipeline needs at least one rank");
}

InProcessHub::~InProcessHub() = default;

std::unique_ptr<Transport> InProcessHub::connect(int rank) {
  if (rank < 0 || rank >= state_->worldSize) {
    throw Error("rank " + std::to_string(rank) + " is none of the " +
                std::to_string(state_->worldSize) + " ranks of this process");
  }
  return std::make_unique<InProcessTransport>(*state_, rank);
}

}  // namespace pipetrace
