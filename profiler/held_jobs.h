#pragma once

#include <compare>
#include <map>
#include <vector>

#include "profiler/job.h"
#include "trace/nanoseconds.h"

namespace pipetrace {

/// A job whose times are known.
struct TimedJob {
  Job job;
  int lane = 0;              ///< index of its stream
  std::uint64_t number = 0;  ///< of the job on its lane
  Nanoseconds begin = 0;
  Nanoseconds end = 0;
};

/// Jobs that wait for their step to end, so that each step's lines can be written sorted by start.
/// Not thread-safe.
class HeldJobs {
 public:
  /// `now`: any clock, the same as for takeOlderThan().
  void add(const TimedJob& job, Nanoseconds now);

  /// Moves the jobs of all steps up to and including `step` to the end of `out`: steps ascending,
  /// each step's jobs by start. Jobs that belong to no step come first.
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
  /// A job among those of its step; jobs of the same times stay in their order.
  struct Place {
    Nanoseconds begin;
    Nanoseconds end;
    std::size_t index;
    auto operator<=>(const Place&) const = default;
  };
  /// Moves `jobs` to the end of `out`, in the order of their begins.
  void appendSorted(std::vector<TimedJob>& jobs, std::vector<TimedJob>& out);

  std::map<std::int32_t, Step> steps_;
  std::vector<Place> order_;
  std::vector<TimedJob>* last_ = nullptr;  // where the last job went, as most of the next ones do
  std::int32_t lastStep_ = 0;
  std::vector<TimedJob> spare_;  // the memory of a step that is gone, for one that comes
};

}  // namespace pipetrace
