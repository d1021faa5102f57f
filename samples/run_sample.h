#pragma once

#include <functional>
#include <vector>

#include "runtime/starting_ranks/stop_signal.h"
#include "samples/sample_options.h"

namespace pipetrace {

struct SampleTask;

/// Trains with the engine as `options` ask for: with Gloo the rank of this process, else all ranks
/// as threads. The process of the rank that reports the loss prints at the end how far it has
/// fallen. `makeTask` is called once, with the random generator seeded. With dryRun it prints the
/// plan alone, with forwardOnly the loss of an evaluation.
///
/// Returns the losses of the steps on that process.
///
/// Throws Error for options that do not fit each other, the model or the environment, and when
/// `stop` has received a signal. Errors of training and recording pass through. Job logs are closed
/// first.
std::vector<double> runSample(const SampleOptions& options,
                              const std::function<SampleTask()>& makeTask, StopSignal& stop);

}  // namespace pipetrace
