#include "parser/device_time/host_jobs.h"

#include <algorithm>

namespace pipetrace {
namespace {

/// Whether autograd launches kernels during such a job.
bool runsAutograd(JobKind kind) {
  switch (kind) {
    case JobKind::kBackward:
    case JobKind::kBackwardInput:
    case JobKind::kBackwardWeight:
    case JobKind::kForwardBackward:
    case JobKind::kRecompute: return true;
    default: return false;
  }
}

}  // namespace

std::optional<bool> isForwardMessageOf(JobKind job) {
  switch (job) {
    case JobKind::kForward: return true;
    case JobKind::kBackward:
    case JobKind::kBackwardInput: return false;
    default: return std::nullopt;
  }
}

std::int32_t HostJobs::add(const HostJob& job) {
  const auto number = static_cast<std::int32_t>(jobs_.size());
  if (threads_.empty() || threads_.back().thread != job.thread) {
    threads_.push_back({job.thread, job.process, number, number});
  }
  threads_.back().end = number + 1;
  jobs_.push_back(job);
  return number;
}

std::int32_t HostJobs::openAmong(const Thread& thread, Nanoseconds time) const {
  const auto first = jobs_.begin() + thread.first;
  const auto next = std::partition_point(first, jobs_.begin() + thread.end,
                                         [&](const HostJob& job) { return job.begin <= time; });
  if (next == first || time >= std::prev(next)->end) return kNone;
  return static_cast<std::int32_t>(std::prev(next) - jobs_.begin());
}

const HostJobs::Thread* HostJobs::find(std::uint32_t thread) const {
  const auto found = std::find_if(threads_.begin(), threads_.end(),
                                  [&](const Thread& t) { return t.thread == thread; });
  return found == threads_.end() ? nullptr : &*found;
}

std::int32_t HostJobs::openAt(std::uint32_t thread, Nanoseconds time) const {
  const Thread* const found = find(thread);
  return found == nullptr ? kNone : openAmong(*found, time);
}

std::int32_t HostJobs::ofMessage(std::uint32_t thread, Nanoseconds time, bool isSend,
                                 std::optional<bool> isForward) const {
  const Thread* const found = find(thread);
  if (found == nullptr) return kNone;
  const auto isMeant = [&](std::int32_t job) {
    const HostJob& each = (*this)[job];
    return !isForward || isForwardMessageOf(each.kind) == isForward ||
           isFoundPair(each.kind, each.stage);
  };
  const std::int32_t open = openAmong(*found, time);
  const bool isPosted = open != kNone && isMeant(open);
  if (isPosted && (isSend || !isFoundPair((*this)[open].kind, (*this)[open].stage))) return open;
  const auto next = std::partition_point(jobs_.begin() + found->first, jobs_.begin() + found->end,
                                         [&](const HostJob& job) { return job.begin <= time; });
  const auto first = static_cast<std::int32_t>(next - jobs_.begin());
  if (isSend) {
    for (std::int32_t job = first - 1; job >= found->first; --job) {
      if (isMeant(job)) return job;
    }
  } else {
    for (std::int32_t job = first; job < found->end; ++job) {
      if (isMeant(job)) return job;
    }
  }
  return kNone;
}

std::int32_t HostJobs::withMessage(std::uint32_t thread, Nanoseconds time,
                                   const Event& message) const {
  constexpr std::int32_t kMostAway = 256;  // messages are posted a few jobs before or after theirs
  const Thread* const found = find(thread);
  if (found == nullptr) return kNone;
  const auto isOwn = [&](std::int32_t number) {
    const HostJob& job = (*this)[number];
    return isForwardMessageOf(job.kind) == isForwardTransfer(message.kind) &&
           job.stage == message.stage && job.microBatch == message.microBatch;
  };
  const auto next = std::partition_point(jobs_.begin() + found->first, jobs_.begin() + found->end,
                                         [&](const HostJob& job) { return job.begin <= time; });
  const auto first = static_cast<std::int32_t>(next - jobs_.begin());
  if (isSend(message.kind)) {
    const std::int32_t until = std::max(found->first, first - kMostAway);
    for (std::int32_t job = first - 1; job >= until; --job) {
      if (isOwn(job)) return job;
    }
    return kNone;
  }
  const bool isOpen = openAmong(*found, time) != kNone;
  const std::int32_t end = std::min(found->end, first + kMostAway);
  for (std::int32_t job = isOpen ? first - 1 : first; job < end; ++job) {
    if (isOwn(job)) return job;
  }
  return kNone;
}

std::vector<std::int32_t> HostJobs::backwardsOpenAt(std::uint32_t process, Nanoseconds time) const {
  std::vector<std::int32_t> open;
  for (const Thread& thread : threads_) {
    if (thread.process != process) continue;
    const std::int32_t job = openAmong(thread, time);
    if (job != kNone && runsAutograd((*this)[job].kind)) open.push_back(job);
  }
  return open;
}

}  // namespace pipetrace
