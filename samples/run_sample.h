#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runtime/starting_ranks/stop_signal.h"
#include "samples/sample_options.h"

namespace pipetrace {

struct SampleTask;
struct Strategy;

/// The strategy of a sample's command line. Throws Error for a loss scale that is none.
Strategy strategyOf(const SampleOptions& options);

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

/// Says how far losses have fallen: "mean loss of the first 10 steps 4.1, of the last 10 steps 2.3
/// (0.56 of it)". It takes the halves if there are fewer than 20. Losses that are no finite numbers
/// do not count. "" for fewer than two.
std::string meansOf(const std::vector<double>& losses);

}  // namespace pipetrace
