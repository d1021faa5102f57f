#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/run/run.h"
#include "trace/diagnostic.h"
#include "trace/doubt_kind.h"

namespace pipetrace {

/// Something that must be true of any run and is not true of this one, as facts. analysis/present/
/// makes sentences and JSON of them. Facts that a kind does not name are empty.
struct Doubt {
  DoubtKind kind = DoubtKind::kNone;
  /// Whose times or jobs they are, ascending. kClocksApart: the maker of the data, then its user.
  /// kRanksContradict: the sender, then the receiver.
  std::vector<int> ranks{};
  /// By kind:
  /// - kOverruns: how long work ran on;
  /// - kCoarseTimes: what all times are multiples of, 0 where jobs have no length;
  /// - kLastJobLong: the length of that job;
  /// - kLengthsApart: the mean length of the jobs of the rank that is farthest off;
  /// - clocks: how far they are apart at least;
  /// - kOverlappingJobs: the time of jobs under others, on the rank with the largest share;
  /// - kDeviceBeyondRun: how long the busiest device worked;
  /// - kNothingRecorded: how long that was;
  /// - kStepsInside: by how much the step ends after the others;
  /// - kHiddenWaits: how long such kernels take, on the rank where they take longest; 0: there are
  ///   no kernels, and ranks share stages.
  Nanoseconds time = 0;
  /// A time to compare `time` with:
  /// - kCoarseTimes: the mean length of a job;
  /// - kLastJobLong: the length of the longest other one;
  /// - kLengthsApart: the mean length of the jobs of the median rank;
  /// - kClocksMoved: how exact times are now;
  /// - kOverlappingJobs: the length of all jobs of the rank;
  /// - kDeviceBeyondRun: the length of its run;
  /// - kNothingRecorded: the length of the step;
  /// - kHiddenWaits: the length of all jobs of that rank.
  Nanoseconds beside = 0;
  /// Events, jobs, or messages that it is about; kOverlappingJobs: lanes that run at the same time,
  /// each without an overlap of its own; 0 where there are no such lanes.
  std::int64_t count = 0;
  /// kClocksApart, kCoarseTimes, kFoundJobs: out of how many. kRanksContradict: messages received
  /// there.
  std::int64_t all = 0;
  std::int64_t morePairs = 0;  ///< kClocksApart, kRanksContradict: of ranks
  double ratio = 0;            ///< kTooEfficient: the median of schedule efficiencies
  /// kClocksApart: the jobs that show it, as plans name them: "1F0" begins before "0F0" has ended.
  /// kJobsTwice: `made` alone, one that several ranks run. kLastJobLong: `made` alone, the job.
  /// kHiddenWaits: `made` alone, the kernel that takes longest.
  std::string made{};
  std::string used{};
  std::int32_t step = kNotGiven;  ///< of these, and of kNothingRecorded, kStepsInside, kMissingJobs
  /// kFoundJobs: the schedule that the jobs follow; empty if none is known. Then how many of `all`
  /// jobs stand where it has them, and of how many the micro-batch is counted by order. Last, the
  /// runs of operators that were not placed, which last `time`.
  std::string schedule{};
  std::int64_t fitting = 0;
  std::int64_t byOrder = 0;
  std::int64_t unplaced = 0;
  /// kFoundJobs: ranks with jobs of RankInfo::jobsInPairs: those whose kernels parted them, and
  /// those where they did not.
  std::vector<int> parted{};
  std::vector<int> unparted{};
  bool isWithoutPipeline = false;  ///< kFoundJobs: each rank runs the whole model
  /// Kinds that a reader or an earlier check has said: its message and its advice.
  std::string said{};
  std::string advice{};
  /// So bad that figures of the run mean nothing.
  bool isMeaningless = false;
};

/// All doubts about a run, those that make its figures meaningless first, else in the order of
/// DoubtKind. `diagnostics`: of loading it. Linear in the run's jobs and messages.
std::vector<Doubt> doubtsOf(const Run& run, const Diagnostics& diagnostics);

/// Whether any of them makes the figures meaningless.
bool areMeaningless(const std::vector<Doubt>& doubts);

}  // namespace pipetrace
