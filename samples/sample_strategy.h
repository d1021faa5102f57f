#pragma once

#include "runtime/engine/strategy.h"
#include "samples/sample_options.h"

namespace pipetrace {

/// The strategy of a sample's command line. Throws Error for a loss scale that is none.
Strategy strategyOf(const SampleOptions& options);

}  // namespace pipetrace
