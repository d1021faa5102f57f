#pragma once

#include "schedule/costs.h"
#include "schedule/schedule.h"
#include "schedule/simulate/simulation.h"

namespace pipetrace {

struct SimulateOptions {
  int steps = 1;
  Nanoseconds begin = 0;  ///< when all ranks start the first step
  /// Whether a step starts on all ranks when the one before has ended on all; else each rank goes
  /// on by itself.
  bool stepsStartTogether = false;
  /// Whether the timeline gets counters of what each rank holds.
  bool counters = false;
};

/// A dry run: every rank does its actions in order, each as soon as its inputs are there, and takes
/// what `costs` says.
///
/// Within one rank there is no message. A message between two ranks moves when it is made; in a
/// full plan, when its rank has come to its send and the other to its receive (check.h). It arrives
/// costs.transfer later. With costs.bandwidth the messages from one rank to one other move one
/// after another, in the order in which they are made: each begins when the bytes of the one before
/// are through, and arrives costs.transfer after its own are. Each rank begins a step with `lr`
/// and ends it with `optimizer`; of an asynchronous plan each update is an `optimizer` job, right
/// after the backward pass that it follows.
///
/// Throws Error for a plan that cannot run to its end, and for costs of fewer stages than it has.
/// Linear in actions times steps.
Simulation simulate(const Schedule& schedule, const Costs& costs, const SimulateOptions& = {});

}  // namespace pipetrace
