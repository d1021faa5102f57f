#pragma once

#include <string>
#include <vector>

#include "analysis/diff/run_diff.h"

namespace pipetrace {

/// A reason why steps of B take longer or shorter.
struct DiffReason {
  std::string text;             ///< "stage 2's jobs take 10.0 % longer"
  Nanoseconds time = 0;         ///< its share of the difference of RunDiff::unit()
  bool namesSchedules = false;  ///< both, as they differ
};

/// Clear changes of jobs and messages in words, those of several places that changed alike as one.
/// Each has the busy time of these jobs, and the idle time that is blamed on them; 0 where steps
/// cannot be compared.
std::vector<DiffReason> changeReasons(const RunDiff& diff);

/// All reasons for the difference of RunDiff::unit(): changeReasons(), what is left by class, and
/// the time between steps. They add up to it. The largest first.
std::vector<DiffReason> reasonsOf(const RunDiff& diff);

}  // namespace pipetrace
