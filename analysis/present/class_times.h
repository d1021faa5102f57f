#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "trace/bubble_class.h"
#include "trace/timeline.h"

namespace pipetrace {

/// The bubbles of each rank that has some, summed up by class.
std::map<int, ClassTimes> classTimesOf(const Timeline& timeline, int threads = 1);

/// How long the jobs, the messages and the collectives of a stage are.
struct StageTimes {
  std::int32_t stage = 0;
  std::vector<int> ranks;  ///< that run it, ascending
  /// The median by kind, in the order of kinds; of an even count the mean of the middle two,
  /// rounded down.
  std::vector<std::pair<JobKind, Nanoseconds>> medians;
  /// The same of its sends, receives and collectives, as its ranks logged them: with the wait for
  /// the other ranks. And of updates that name the stage, as those of plans without a flush do.
  std::vector<std::pair<JobKind, Nanoseconds>> others;

  /// The work of one micro-batch: the sum of the medians.
  Nanoseconds sum() const;
};

/// The stages that compute jobs name, ascending.
std::vector<StageTimes> stageTimesOf(const Timeline& timeline, int threads = 1);

}  // namespace pipetrace
