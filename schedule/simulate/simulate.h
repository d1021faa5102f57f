#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "schedule/check/checked_plan.h"
#include "schedule/comm_streams.h"
#include "schedule/costs.h"
#include "schedule/simulate/critical_path.h"
#include "trace/timeline.h"

namespace pipetrace {

struct SimulateOptions {
  int steps = 1;
  Nanoseconds begin = 0;  ///< when all ranks start the first step
  /// Whether a step starts on all ranks when the one before has ended on all; else each rank goes
  /// on by itself.
  bool stepsStartTogether = false;
  /// Whether the timeline gets counters of what each rank holds.
  bool counters = false;
  /// The lines on which messages run; the plan must be a full one then.
  CommStreams commStreams = CommStreams::kAsReached;
};

/// The counter of the memory that a rank holds; without memory in Costs it counts activations.
inline constexpr std::string_view kMemoryCounter = "memory";

/// The result of simulate().
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

  /// The run as its logs would show it: lanes "compute", and, where messages take time or the plan
  /// says when they move, "send" and "recv". Jobs of asynchronous plans have the argument
  /// "version". With SimulateOptions::counters, counters "live_activations" and kMemoryCounter.
  Timeline timeline;
  Nanoseconds length = 0;  ///< from the start to the last end of any job
  std::vector<Rank> ranks;
  CriticalPath criticalPath;  ///< of the last step
};

/// A dry run: every rank does its actions in order, each as soon as its inputs are there. Each
/// takes the time that `costs` gives it.
///
/// Within one rank there is no message. A message between two ranks moves when it is made; in a
/// full plan, when its rank has come to its send and the other to its receive (check.h). It arrives
/// costs.transfer later, and so does an acknowledgement, which takes no bandwidth. A rank that
/// waits for a credit (Plan::credits) is idle until it has come. With costs.bandwidth the messages
/// from one rank to one other move one after another, in the order in which they are made. Each
/// begins when the bytes of the one before are through, and arrives costs.transfer after its own
/// are. Each rank begins a step with `lr` and ends it with `optimizer`; a forward-only plan has
/// neither. In an asynchronous plan each update is an `optimizer` job, right after the backward
/// pass that it follows. Data-parallel work (isDataParallel()) is a job of its kind where faults
/// give it a time; it comes before the updates that follow the same backward pass. Faults of the
/// costs change single jobs and links.
///
/// Throws Error for costs of fewer stages than the plan has. Linear in actions times steps.
Simulation simulate(const CheckedPlan& plan, const Costs& costs, const SimulateOptions& = {});

}  // namespace pipetrace
