#pragma once

#include <CLI/CLI.hpp>

#include "samples/optimizer/optimizer_options.h"
#include "samples/sample_options.h"

namespace pipetrace {

/// Adds the options that all samples have; their defaults are what `options` holds. The transport
/// is Gloo when the environment says that a launcher started the program (WORLD_SIZE is set).
void addPipelineOptions(CLI::App& app, SampleOptions& options);

/// Adds --peak-flops, for samples that know their operations.
void addPeakFlops(CLI::App& app, SampleOptions& options);

/// Adds the options of a task's optimizer; their defaults are what `options` holds.
void addOptimizerOptions(CLI::App& app, OptimizerOptions& options);

}  // namespace pipetrace
