#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "trace/nanoseconds.h"

namespace pipetrace {

/// A job whose times are known. Its other fields stay in its slot: this is small, because the log
/// thread finds nothing in the caches when it wakes up.
struct TimedJob {
  Nanoseconds begin = 0;
  Nanoseconds end = 0;
  std::uint32_t slot = 0;  ///< of its lane, Lane::slot()
  std::int32_t lane = 0;   ///< index of its stream
};

/// Jobs that wait for their step to end, so that each step's lines can be written sorted by start.
/// Not thread-safe.
class HeldJobs {
 public:
  /// A job of `step`. `now`: any clock, the same as for takeOlderThan(). Quick if the jobs of a
  /// stream are added one after another, in order.
  void add(std::int32_t step, const TimedJob& job, Nanoseconds now) {
    if (last_ == nullptr || lastStep_ != step) beginStep(step, now);
    last_->push_back(job);
  }

  /// Moves the jobs of all steps up to and including `step` to the end of `out`: steps ascending,
  /// each step's jobs by start, then by end. Jobs that belong to no step come first.
  void takeUpTo(std::int32_t step, std::vector<TimedJob>& out);
  /// The same up to the last step whose oldest job was added at or before `time`.
  void takeOlderThan(Nanoseconds time, std::vector<TimedJob>& out);
  void takeAll(std::vector<TimedJob>& out);

  bool empty() const { return steps_.empty(); }

 private:
  struct Step {
    Nanoseconds firstAdded = 0;
    std::vector<TimedJob> jobs;
  };
  void beginStep(std::int32_t step, Nanoseconds now);
  void sort(std::vector<TimedJob>& jobs);
  void mergePairs(const std::vector<TimedJob>& from, std::vector<TimedJob>& to);

  std::map<std::int32_t, Step> steps_;
  std::vector<TimedJob>* last_ = nullptr;  // where the last job went, as most of the next ones do
  std::int32_t lastStep_ = 0;
  std::vector<TimedJob> spare_;  // the memory of a past step, for the next one
  std::vector<TimedJob> merged_;
  std::vector<std::size_t> runs_;  // where sorted stretches begin, and the end of the last
};

}  // namespace pipetrace
