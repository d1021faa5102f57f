#pragma once

#include <cstdint>
#include <optional>

#include "runtime/engine/checkpoint_options.h"
#include "runtime/train/model/model.h"

namespace pipetrace {

/// The step whose checkpoint a training begins with; empty: it begins at its first step. Where a
/// launcher has started all ranks again (`isRestart`) it is the newest one, if there is any. Throws
/// Error if there is none to go on from, and for a new training in a folder that has checkpoints.
std::optional<std::int64_t> firstCheckpoint(const CheckpointOptions& options, bool isRestart);

/// Throws Error for what a first start would be refused for, without a rank. It throws as
/// firstCheckpoint() does, and as Checkpoint does for a step that is not there or not whole, or of
/// another model. Options without a folder are none.
void requireFirstCheckpoint(const CheckpointOptions& options, const Model& model);

}  // namespace pipetrace
