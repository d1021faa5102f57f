#include "runtime/transport/gloo_group.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "runtime/lanes/peer_lost.h"

namespace pipetrace {

std::string firstLine(const std::exception& error) {
  const auto* c10Error = dynamic_cast<const c10::Error*>(&error);
  const std::string text = c10Error != nullptr ? c10Error->what_without_backtrace() : error.what();
  return text.substr(0, text.find('\n'));
}

GlooGroup::GlooGroup(c10::intrusive_ptr<c10d::ProcessGroupGloo> group, Nanoseconds waitTimeout)
    : group_(std::move(group)), waitTimeout_(waitTimeout / kNsPerMs), bells_{&bell_} {}

GlooGroup::WorkPtr GlooGroup::send(const at::Tensor& tensor, int to, int tag) {
  const std::lock_guard lock(mutex_);
  if (!abortReason_.empty()) throw Error(abortReason_);
  std::vector<at::Tensor> tensors{tensor};
  return inFlight_.emplace_back(group_->send(tensors, to, tag));
}

GlooGroup::WorkPtr GlooGroup::receive(const at::Tensor& tensor, int from, int tag) {
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
  for (Bell* bell : bells_) bell->stop();
}

void GlooGroup::throwIfAborted() const {
  const std::lock_guard lock(mutex_);
  if (!abortReason_.empty()) throw Error(abortReason_);
}

void GlooGroup::addBell(Bell& bell) {
  const std::lock_guard lock(mutex_);
  bells_.push_back(&bell);
  if (!abortReason_.empty()) bell.stop();
}

void GlooGroup::removeBell(Bell& bell) noexcept {
  const std::lock_guard lock(mutex_);
  std::erase(bells_, &bell);
}

void GlooGroup::barrier() {
  // LibTorch 2.11 notes collectives in a table of the process that nothing guards, and several
  // ranks may be threads of this one.
  static std::mutex issuing;
  WorkPtr work;
  {
    const std::lock_guard lock(issuing);
    work = group_->barrier();
  }
  work->wait();
}

void GlooGroup::guarded(const std::string& doing, int peer,
                        const std::function<void()>& action) const {
  const auto who = [&] { return "rank " + std::to_string(rank()) + " gave up " + doing + ": "; };
  try {
    action();
  } catch (const Error& e) {
    throw Error(who() + e.what());
  } catch (const std::exception& e) {
    throw PeerLost(who() + "rank " + std::to_string(peer) + " is gone or does not answer (" +
                   firstLine(e) + ")");
  }
}

}  // namespace pipetrace
