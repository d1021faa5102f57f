#pragma once

#include <optional>

#include "trace/timeline.h"

namespace pipetrace {

/// The two halves of a job of kind forward_backward.
struct FusedPair {
  int forwardStage = 0;
  int forwardMicroBatch = 0;
  int backwardStage = 0;
  int backwardMicroBatch = 0;
};

/// From the job's action, "(0F7;7B3)OVERLAP_F_B", where alone the backward's half stands. Nothing
/// for other jobs, and where the log does not give the action.
std::optional<FusedPair> fusedPairOf(const Timeline& timeline, const Event& job);

}  // namespace pipetrace
