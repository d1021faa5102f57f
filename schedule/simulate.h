#pragma once

#include "schedule/costs.h"
#include "schedule/schedule.h"
#include "schedule/simulation.h"

namespace pipetrace {

struct SimulateOptions {
  int steps = 1;
  Nanoseconds begin = 0;  ///< when all ranks start the first step
  /// Whether a step starts on all ranks when the one before has ended on all; else each rank goes
  /// on by itself.
  bool stepsStartTogether = false;
};

/// A dry run: every rank does its actions in order, each as soon as its inputs are there, and takes
/// what `costs` says. A message between two ranks arrives costs.transfer after the job that makes
/// it; links carry any number of messages at once, and within one rank there is no message. A fused
/// pair is one job as long as its two parts. Send and receive actions in the plan are passed over:
/// the messages follow from the compute actions.
///
/// Throws Error for a plan that cannot run to its end, and for costs of fewer stages than it has.
/// Linear in actions times steps.
Simulation simulate(const Schedule& schedule, const Costs& costs, const SimulateOptions& = {});

}  // namespace pipetrace
