#pragma once

#include <string>
#include <vector>

#include "analysis/run/bubbles/run_basis.h"
#include "analysis/run/plans/plan_deviations.h"
#include "analysis/run/plans/recognise_schedule.h"
#include "trace/topology.h"

namespace pipetrace {

/// The schedule that a run followed, and the jobs that stood elsewhere.
struct FollowedSchedule {
  /// A job at another place than the schedule has it.
  struct Deviation {
    int replica = 0;
    std::int32_t step = 0;
    int rank = 0;             ///< its number in the logs
    std::string job;          ///< "2F5", with the numbers of the logs where they are known
    PlanDeviation deviation;  ///< its positions; its rank counts in the pipeline
  };

  RecognisedSchedule recognised;
  std::string given;  ///< the schedule that the logs name; empty: none
  /// That schedule has no flush, but no step has optimizer jobs between its forwards, which alone
  /// show that.
  bool lacksUpdates = false;
  /// Where ranks take turns at the micro-batches of a stage: the ranks of each, counted in their
  /// pipeline. Else empty.
  std::vector<std::vector<int>> ranksOfStage;
  /// Why there is no plan to compare with, or why it is not all of the step's; a sentence without a
  /// full stop, or empty.
  std::string problem;
  bool countsMicroBatches = false;  ///< jobs did not name theirs
  int replica = 0;                  ///< of the step that was compared with schedules
  std::int32_t step = 0;
  std::vector<Deviation> deviations;  ///< at most kMostDeviations
  std::int64_t deviationCount = 0;

  /// "the logs name PipeDream", and what they lack if lacksUpdates. Needs `given`.
  std::string givenText() const;
  /// Whether the first of the names that were recognised is the given one, which may be an alias.
  bool isAsGiven() const;

  static constexpr std::size_t kMostDeviations = 100;
};

/// Recognises the schedule by the last whole step of the first pipeline, and lists where it and
/// the steps whose orders differ from it deviate. At most 16 of these are compared.
FollowedSchedule followedSchedule(const Timeline& timeline, const Topology& topology,
                                  const RunBasis& basis);

}  // namespace pipetrace
