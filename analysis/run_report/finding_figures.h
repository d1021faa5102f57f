#pragma once

#include <nlohmann/json.hpp>

#include "analysis/explain/finding.h"

namespace pipetrace {

/// Adds the figures that only some findings have to their evidence: those of pauses, of uneven
/// micro-batches, and of pauses at different steps.
void addFigures(const Finding& finding, nlohmann::ordered_json& evidence);

}  // namespace pipetrace
