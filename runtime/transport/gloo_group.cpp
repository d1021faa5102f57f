#include "runtime/transport/gloo_group.h"

#include <ATen/ops/zeros.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "runtime/errors/error_text.h"
#include "runtime/transport/gloo_lanes.h"

namespace pipetrace {

GlooGroup::GlooGroup(c10::intrusive_ptr<c10d::ProcessGroupGloo> group, Nanoseconds waitTimeout,
                     std::unique_ptr<GlooPairs> pairs)
    : group_(std::move(group)),
      waitTimeout_(waitTimeout / kNsPerMs),
      pairs_(std::move(pairs)),
      eventCounts_{&eventCount_} {}

void GlooGroup::open(int peer) {
  if (!pairs_) return;
  guarded("connecting with rank " + std::to_string(peer), peer,
          [&] { pairs_->open(peer, [&] { throwIfAborted(); }); });
  open_.push_back(peer);
}

void GlooGroup::awaitOpen() {
  for (const int peer : open_) {
    guarded("connecting with rank " + std::to_string(peer), peer, [&] { awaitPair(peer); });
  }
}

// Does not hold the lock: abort() has to come through while this waits.
void GlooGroup::awaitPair(int peer) {
  if (pairs_) pairs_->await(peer, [&] { throwIfAborted(); });
}

GlooGroup::WorkPtr GlooGroup::send(const at::Tensor& tensor, int to, int tag) {
  awaitPair(to);
  const std::lock_guard lock(mutex_);
  if (!abortReason_.empty()) throw Error(abortReason_);
  std::vector<at::Tensor> tensors{tensor};
  return inFlight_.emplace_back(group_->send(tensors, to, tag));
}

GlooGroup::WorkPtr GlooGroup::receive(const at::Tensor& tensor, int from, int tag) {
  awaitPair(from);
  const std::lock_guard lock(mutex_);
  if (!abortReason_.empty()) throw Error(abortReason_);
  std::vector<at::Tensor> tensors{tensor};
  return inFlight_.emplace_back(group_->recv(tensors, from, tag));
}

// Does not hold the lock: abort() has to come through while this waits.
void GlooGroup::await(const WorkPtr& work) {
  const bool done = work->wait(waitTimeout_);
  const std::lock_guard lock(mutex_);
  std::erase(inFlight_, work);
  if (!abortReason_.empty()) throw Error(abortReason_);
  if (!done) throw Error("the transfer was cut off");
}

void GlooGroup::abort(const std::string& reason) noexcept {
  const std::lock_guard lock(mutex_);
  if (!abortReason_.empty()) return;
  abortReason_ = reason.empty() ? "it was stopped" : reason;
  for (const WorkPtr& work : inFlight_) work->abort();
  for (EventCount* eventCount : eventCounts_) eventCount->stop();
}

void GlooGroup::throwIfAborted() const {
  const std::lock_guard lock(mutex_);
  if (!abortReason_.empty()) throw Error(abortReason_);
}

void GlooGroup::addEventCount(EventCount& eventCount) {
  const std::lock_guard lock(mutex_);
  eventCounts_.push_back(&eventCount);
  if (!abortReason_.empty()) eventCount.stop();
}

void GlooGroup::removeEventCount(EventCount& eventCount) noexcept {
  const std::lock_guard lock(mutex_);
  std::erase(eventCounts_, &eventCount);
}

// In round r each rank tells the one 2^r after it that it and those it has heard of are here. The
// group's own barrier cannot be ended. (Hensgen, Finkel and Manber, "Two algorithms for barrier
// synchronization", 1988.)
void GlooGroup::barrier() {
  const int own = rank();
  const int ranks = size();
  for (int distance = 1; distance < ranks; distance *= 2) {
    open((own + distance) % ranks);
    open((own + ranks - distance) % ranks);
  }
  for (int distance = 1; distance < ranks; distance *= 2) {
    const int next = (own + distance) % ranks;
    const int last = (own + ranks - distance) % ranks;
    const at::Tensor word = at::zeros({1}, at::kByte);
    const at::Tensor heard = at::zeros({1}, at::kByte);
    WorkPtr received;
    WorkPtr sent;
    guarded("waiting for the others to finish", next,
            [&] { sent = send(word, next, kBarrierTag); });
    guarded("waiting for the others to finish", last, [&] {
      received = receive(heard, last, kBarrierTag);
      await(received);
    });
    guarded("waiting for the others to finish", next, [&] { await(sent); });
  }
}

void GlooGroup::guarded(const std::string& doing, int peer,
                        const std::function<void()>& action) const {
  try {
    action();
  } catch (...) {
    rethrowAsPeerLost(rank(), doing, peer);
  }
}

}  // namespace pipetrace
