#pragma once

#include <CLI/CLI.hpp>

#include "samples/sample_options.h"

namespace pipetrace {

/// Adds the options that all samples have; their defaults are what `options` holds. The transport
/// is Gloo when the environment says that a launcher started the program (WORLD_SIZE is set).
void addPipelineOptions(CLI::App& app, SampleOptions& options);

}  // namespace pipetrace
