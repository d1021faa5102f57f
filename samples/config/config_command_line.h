#pragma once

#include <CLI/CLI.hpp>
#include <optional>

#include "samples/sample_options.h"

namespace pipetrace {

/// Parses the command line of a sample, and the options of its --config file that the command line
/// and the environment do not have. `app` has the options of addPipelineOptions() on `options`.
///
/// A key is an option of the program, with '_' for '-', or one of the drivers'. Where a launcher
/// has started the program, distributed_backend chooses the transport. An epoch has
/// num_minibatches, or as many steps as the program usually runs.
///
/// Returns the exit code when nothing is left to do: help was printed, or something is wrong, which
/// was reported with the file, the line and the nearest known key.
std::optional<int> parseWithConfig(CLI::App& app, int argc, char** argv, SampleOptions& options);

}  // namespace pipetrace
