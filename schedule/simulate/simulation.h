#pragma once

#include <cstdint>
#include <vector>

#include "schedule/simulate/critical_path.h"
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
    std::int64_t peakMemory = 0;  ///< most memory held at once, in the units of Costs
    int versions = 1;             ///< of weights that the rank keeps of one of its stages, the most

    Nanoseconds span() const { return last - first; }
    Nanoseconds idle() const { return span() - busy; }  ///< within its span
  };

  /// The run as its logs would tell it: lanes "compute", and where messages take time, or the plan
  /// says when they move, "send" and "recv". Jobs of asynchronous plans have the argument
  /// "version". With SimulateOptions::counters, counters "live_activations" and "memory".
  Timeline timeline;
  Nanoseconds length = 0;  ///< from the begin to the last end of any job
  std::vector<Rank> ranks;
  CriticalPath criticalPath;  ///< of the last step
};

}  // namespace pipetrace
