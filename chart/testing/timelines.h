#pragma once

#include "trace/timeline.h"

namespace pipetrace {

/// The parameters of a run under 1F1B, for tests.
struct TestRun {
  int ranks = 4;
  int microBatches = 8;
  int steps = 3;
  Nanoseconds forward = 10 * kNsPerMs;
  Nanoseconds backward = 20 * kNsPerMs;
  bool hasTransfers = true;  ///< lanes "send" and "recv", 1 ms a message
  bool hasBubbles = true;    ///< the lane "bubbles"
};

/// The first step begins at kTestEpoch. Sorted.
inline constexpr Nanoseconds kTestEpoch = 1'697'793'307'213'760'986;
Timeline makeTestTimeline(const TestRun& run);

}  // namespace pipetrace
