#pragma once

#include <optional>
#include <string>
#include <vector>

#include "schedule/plan.h"

namespace pipetrace {

/// The schedule whose order a run followed.
struct RecognisedSchedule {
  /// All schedules that give this order, in the order of knownSchedules(): "1F1B", "PipeDream",
  /// "PipeDream-2BW". Where weights changed between the jobs of the step, those that change them
  /// there come first. Empty: no schedule gives the order or one like it.
  std::vector<std::string> names;
  /// Whether the order is theirs, pass by pass; else it is only like theirs.
  bool isExact = false;
  /// The share of passes that are missing, extra or out of order; of an unknown order the whole: 1.
  double distance = 1;
  /// With how many forwards each stage warms up, if that is not what these schedules usually do.
  std::optional<std::vector<int>> depths;
  /// The plan of names[0] for a run of this size, in the kinds of jobs that the run has, to compare
  /// with (findDeviations()). Empty where the order is unknown.
  Plan plan;
};

/// A schedule is like a run's if at most this share of passes differs. Plans of one schedule that
/// fill their gaps by other costs lie below it, orders made at random far above (docs/metrics.md).
inline constexpr double kMostDistance = 0.25;

/// Finds the schedules of buildSchedule() that give the order of a measured plan (measuredPlan()):
/// the same passes on each rank, in the same order. A backward pass may be one job in one of them
/// and two halves in a row in the other, and a fused pair two jobs. Rows without actions are those
/// of ranks without logs and are not compared. If none gives it, the closest that is like it
/// counts. Schedules that search for given times are not tried; what they find is named after what
/// it is or is like. A measured plan without halves can only be like a schedule with halves: there
/// the input halves count as its backward passes.
///
/// Builds the schedules that have as many ranks, stages and micro-batches and the same placement,
/// those of buildOnStageRanks() where ranks take turns. If none gives the order, it tries the
/// depths that the run's stages have, where ranks take turns or weights change without a flush.
/// It compares each in linear time, one that is only like it in O(n log n). Where micro-batches are
/// many it first compares the beginnings.
RecognisedSchedule recogniseSchedule(const Plan& measured);

/// "1F1B", "like 1F1B", "PipeDream with stage depths 2,1", "unknown order".
std::string toText(const RecognisedSchedule& schedule);

}  // namespace pipetrace
