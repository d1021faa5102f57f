#pragma once

#include <vector>

#include "trace/timeline.h"

namespace pipetrace {

/// What simulate() finds.
struct Simulation {
  struct Rank {
    Nanoseconds busy = 0;   ///< all its compute jobs, over all steps
    Nanoseconds first = 0;  ///< start of its first compute job
    Nanoseconds last = 0;   ///< end of its last compute job
    int peakLive = 0;       ///< most micro-batch activations held at once, per stage of the rank: a
                            ///< forward takes one, the backward pass (or its weight half) frees it
  };

  /// The run as its logs would tell it: lanes "compute", and with a transfer time "send" and
  /// "recv".
  Timeline timeline;
  Nanoseconds length = 0;  ///< from the begin to the last end of any job
  std::vector<Rank> ranks;
};

}  // namespace pipetrace
