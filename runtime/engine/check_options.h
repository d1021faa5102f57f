#pragma once

#include <vector>

#include "runtime/engine/engine.h"

namespace pipetrace {

/// Throws Error, with the field's name, for a value that means nothing.
void requireMeaning(const EngineOptions& options);
void requireMeaning(const FitOptions& options);

/// Throws Error for two metrics of one name, for one without a name or a function, and for the name
/// of the loss.
void requireNames(const std::vector<Metric>& metrics);

}  // namespace pipetrace
