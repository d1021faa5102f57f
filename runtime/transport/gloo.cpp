#include "runtime/transport/gloo.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <string>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <utility>
#include <vector>

#include "runtime/transport/gloo_header.h"
#include "trace/error.h"

namespace pipetrace {

namespace {

using WorkPtr = c10::intrusive_ptr<c10d::Work>;

// A tag, from the lowest bit: body or header, direction, step, micro-batch, stage. Steps wrap
// round: no rank is more than two of them ahead of another.
constexpr int kStepBits = 4;
constexpr int kMicroBatchBits = 13;
constexpr int kStageBits = 10;

int headerTag(const MessageKey& key) {
  if (key.stage < 0 || key.stage >= 1 << kStageBits || key.microBatch < 0 ||
      key.microBatch >= 1 << kMicroBatchBits) {
    throw Error("Gloo cannot address " + toText(key) + ": stages go to " +
                std::to_string((1 << kStageBits) - 1) + ", micro-batches to " +
                std::to_string((1 << kMicroBatchBits) - 1));
  }
  int tag = key.stage;
  tag = (tag << kMicroBatchBits) | key.microBatch;
  tag = (tag << kStepBits) | (key.step & ((1 << kStepBits) - 1));
  tag = (tag << 1) | (key.direction == Direction::kBackward ? 1 : 0);
  return tag << 1;
}
int bodyTag(const MessageKey& key) { return headerTag(key) | 1; }

std::chrono::milliseconds toMilliseconds(Nanoseconds time) {
  return std::chrono::milliseconds(time / kNsPerMs);
}

// LibTorch appends a backtrace to its messages; the first line says what it was.
std::string firstLine(const std::exception& e) {
  const auto* c10Error = dynamic_cast<const c10::Error*>(&e);
  const std::string text = c10Error != nullptr ? c10Error->what_without_backtrace() : e.what();
  return text.substr(0, text.find('\n'));
}

class GlooTransport : public Transport {
 public:
  GlooTransport(c10::intrusive_ptr<c10d::Store> store,
                c10::intrusive_ptr<c10d::ProcessGroupGloo> group, Nanoseconds waitTimeout)
      : store_(std::move(store)),
        group_(std::move(group)),
        waitTimeout_(toMilliseconds(waitTimeout)) {}

  int rank() const override { return group_->getRank(); }
  int worldSize() const override { return group_->getSize(); }

  SendCompletion send(int to, const MessageKey& key, Message message) override {
    const std::string what = "sending " + toText(key) + " to rank " + std::to_string(to);
    std::vector<WorkPtr> works;
    guarded(what, to, [&] {
      checkPeer(to);
      works.push_back(issueSend(GlooHeader(key, message).toTensor(), to, headerTag(key)));
      if (message.bytes() > 0) {
        works.push_back(issueSend(message.tensor.contiguous(), to, bodyTag(key)));
      }
    });
    return [this, what, to, works] {
      guarded(what, to, [&] {
        for (const WorkPtr& work : works) await(work);
      });
    };
  }

  Message recv(int from, const MessageKey& key) override {
    Message message;
    guarded("waiting for " + toText(key) + " from rank " + std::to_string(from), from, [&] {
      checkPeer(from);
      const at::Tensor words = at::empty({GlooHeader::kWords}, at::kLong);
      await(issueRecv(words, from, headerTag(key)));
      const GlooHeader header(words);
      header.check(key);
      message = header.makeMessage();
      if (message.bytes() > 0) await(issueRecv(message.tensor, from, bodyTag(key)));
    });
    return message;
  }

  void abort(const std::string& reason) noexcept override {
    const std::lock_guard lock(mutex_);
    if (!abortReason_.empty()) return;
    abortReason_ = reason.empty() ? "it was stopped" : reason;
    for (const WorkPtr& work : inFlight_) work->abort();
  }

  void finish() override {
    try {
      group_->barrier()->wait();
    } catch (const std::exception& e) {
      throw Error("rank " + std::to_string(rank()) +
                  " waited for the others to finish, but one is gone: " + firstLine(e));
    }
  }

 private:
  WorkPtr issueSend(const at::Tensor& tensor, int to, int tag) {
    const std::lock_guard lock(mutex_);
    throwIfAborted();
    std::vector<at::Tensor> tensors{tensor};
    return inFlight_.emplace_back(group_->send(tensors, to, tag));
  }

  WorkPtr issueRecv(const at::Tensor& tensor, int from, int tag) {
    const std::lock_guard lock(mutex_);
    throwIfAborted();
    std::vector<at::Tensor> tensors{tensor};
    return inFlight_.emplace_back(group_->recv(tensors, from, tag));
  }

  // Does not hold the lock: abort() has to come through while this waits.
  void await(const WorkPtr& work) {
    const bool done = work->wait(waitTimeout_);
    const std::lock_guard lock(mutex_);
    std::erase(inFlight_, work);
    throwIfAborted();
    if (!done) throw Error("the transfer was cut off");
  }

  void checkPeer(int peer) const {
    if (peer >= 0 && peer < worldSize() && peer != rank()) return;
    throw Error("it is no peer among " + std::to_string(worldSize()) + " ranks");
  }

  void throwIfAborted() const {
    if (!abortReason_.empty()) throw Error(abortReason_);
  }

  template <typename Action>
  void guarded(const std::string& what, int peer, Action action) {
    const std::string who = "rank " + std::to_string(rank()) + " gave up " + what + ": ";
    try {
      action();
    } catch (const Error& e) {
      throw Error(who + e.what());
    } catch (const std::exception& e) {
      throw Error(who + "rank " + std::to_string(peer) + " is gone or does not answer (" +
                  firstLine(e) + ")");
    }
  }

  c10::intrusive_ptr<c10d::Store> store_;
  c10::intrusive_ptr<c10d::ProcessGroupGloo> group_;
  const std::chrono::milliseconds waitTimeout_;
  std::mutex mutex_;
  std::vector<WorkPtr> inFlight_;
  std::string abortReason_;
};

bool isLoopback(const std::string& address) {
  return address == "localhost" || address == "::1" || address.starts_with("127.");
}

std::shared_ptr<gloo::transport::Device> deviceFor(const ProcessEnv& env) {
  if (const char* name = std::getenv("GLOO_SOCKET_IFNAME"); name != nullptr && *name != '\0') {
    return c10d::ProcessGroupGloo::createDeviceForInterface(name);
  }
  if (isLoopback(env.masterAddr)) {
    return c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1");
  }
  return c10d::ProcessGroupGloo::createDefaultDevice();
}

c10::intrusive_ptr<c10d::Store> openStore(const GlooOptions& options) {
  c10d::TCPStoreOptions storeOptions;
  storeOptions.port = static_cast<std::uint16_t>(options.env.masterPort);
  storeOptions.isServer = options.env.rank == 0 && !options.env.agentStore;
  storeOptions.numWorkers = static_cast<std::size_t>(options.env.worldSize);
  storeOptions.waitWorkers = !options.env.agentStore;
  storeOptions.timeout = toMilliseconds(options.connectTimeout);
  auto store = c10::make_intrusive<c10d::TCPStore>(options.env.masterAddr, storeOptions);
  return c10::make_intrusive<c10d::PrefixStore>("pipetrace/" + options.env.attempt, store);
}

}  // namespace

std::unique_ptr<Transport> connectGloo(const GlooOptions& options) {
  const ProcessEnv& env = options.env;
  try {
    auto store = openStore(options);
    auto groupOptions =
        c10d::ProcessGroupGloo::Options::create(toMilliseconds(options.connectTimeout));
    groupOptions->devices.push_back(deviceFor(env));
    auto group =
        c10::make_intrusive<c10d::ProcessGroupGloo>(store, env.rank, env.worldSize, groupOptions);
    group->setTimeout(toMilliseconds(options.waitTimeout));
    return std::make_unique<GlooTransport>(std::move(store), std::move(group), options.waitTimeout);
  } catch (const std::exception& e) {
    throw Error("rank " + std::to_string(env.rank) + " of " + std::to_string(env.worldSize) +
                " could not connect to its peers at " + env.masterAddr + ":" +
                std::to_string(env.masterPort) + ": " + firstLine(e) +
                "; are all ranks running, with the same MASTER_ADDR and MASTER_PORT?");
  }
}

}  // namespace pipetrace
