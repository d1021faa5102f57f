#pragma once

#include <cstdint>
#include <string>

#include "runtime/engine/rank_blocks.h"

namespace pipetrace {

/// Engine::save() and load() on one rank. All ranks call them in the same order.
///
/// Throws Error with path and reason, the same on all ranks. `step`: how many steps of training
/// have ended.
void saveWeights(const EngineShared& shared, RankBlocks& blocks, const std::string& folder,
                 std::int64_t step);
/// Throws Error before any rank changes a weight.
void loadWeights(const EngineShared& shared, RankBlocks& blocks, const std::string& folder);

}  // namespace pipetrace
