#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "trace/event.h"

namespace pipetrace {

/// The order of events that nest: by begin, the longest first.
inline bool outerComesFirst(const Event& a, const Event& b) {
  return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
}

/// A job as the host saw it: an annotation of one of its threads.
struct HostJob {
  Nanoseconds begin = 0;
  Nanoseconds end = 0;
  std::uint32_t thread = 0;
  std::uint32_t process = 0;
  JobKind kind = JobKind::kOther;
  std::int32_t stage = kNotGiven;
  std::int32_t microBatch = kNotGiven;
};

/// The direction of the messages of jobs of that kind: whether it is forward. Nothing for kinds
/// without messages.
std::optional<bool> isForwardMessageOf(JobKind job);

/// Whether it is a fused pair that no annotation names, and so has no stage yet. It has messages of
/// both directions. Those that are posted while it runs are of the next job.
inline bool isFoundPair(JobKind kind, std::int32_t stage) {
  return kind == JobKind::kForwardBackward && stage == kNotGiven;
}

/// The jobs of the host by thread and time. Jobs of one thread do not overlap.
class HostJobs {
 public:
  static constexpr std::int32_t kNone = -1;

  /// Adds a job; the jobs of a thread in the order of their begins, one thread after the other.
  /// Returns its number, counted from 0.
  std::int32_t add(const HostJob& job);

  const HostJob& operator[](std::int32_t number) const {
    return jobs_[static_cast<std::size_t>(number)];
  }
  std::size_t size() const { return jobs_.size(); }

  /// The job that is open on `thread` at `time`, or kNone.
  std::int32_t openAt(std::uint32_t thread, Nanoseconds time) const;

  /// The job that a message was posted for, on `thread` at `time`: the open one. Else it is the one
  /// before a send, and the one after a receive; with `isForward` the next one with such messages.
  /// kNone where there is none.
  std::int32_t ofMessage(std::uint32_t thread, Nanoseconds time, bool isSend,
                         std::optional<bool> isForward = {}) const;

  /// The job of that direction, stage and micro-batch on `thread` that made the message, or that
  /// runs with it: the last one that had begun when a send was posted at `time`, the first one that
  /// ends after a receive was. kNone where there is none near.
  std::int32_t withMessage(std::uint32_t thread, Nanoseconds time, const Event& message) const;

  /// The jobs open at `time` on any thread of `process` whose kind is that of a backward pass.
  std::vector<std::int32_t> backwardsOpenAt(std::uint32_t process, Nanoseconds time) const;

 private:
  struct Thread {
    std::uint32_t thread = 0;
    std::uint32_t process = 0;
    std::int32_t first = 0;
    std::int32_t end = 0;
  };

  const Thread* find(std::uint32_t thread) const;
  std::int32_t openAmong(const Thread& thread, Nanoseconds time) const;

  std::vector<HostJob> jobs_;
  std::vector<Thread> threads_;  // those with a job
};

}  // namespace pipetrace
