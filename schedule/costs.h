#pragma once

#include <vector>

#include "trace/nanoseconds.h"

namespace pipetrace {

/// How long one micro-batch takes on one stage.
struct StageCosts {
  Nanoseconds forward = 0;
  Nanoseconds backward = 0;       ///< the whole backward pass
  Nanoseconds backwardInput = 0;  ///< the halves, where a plan splits it
  Nanoseconds backwardWeight = 0;
};

/// The costs that a plan is simulated, rehearsed or compared with.
struct Costs {
  std::vector<StageCosts> stages;  ///< by virtual stage
  Nanoseconds transfer = 0;        ///< of one message between two ranks
  Nanoseconds lr = 0;              ///< per rank and step
  Nanoseconds optimizer = 0;       ///< per rank and step

  /// Every stage alike.
  static Costs equal(int numStages, StageCosts each) {
    return {.stages = std::vector<StageCosts>(static_cast<std::size_t>(numStages), each)};
  }
};

}  // namespace pipetrace
