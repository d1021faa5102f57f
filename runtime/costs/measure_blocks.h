#pragma once

#include "runtime/costs/repeated_times.h"
#include "runtime/train/data/batch.h"
#include "runtime/train/torch_work.h"
#include "schedule/partition/block_table.h"

namespace pipetrace {

/// The costs of each block of a model, alone on a stage (measureStages()). They are its forward,
/// its whole backward and both halves, its update, and its memory, of which neighbours share some.
/// Takes the time that is wanted and that of a few steps on one rank. All runs in one thread, which
/// is this one, and on the CPU.
///
/// `options` needs no partition; `microBatch` has the rows of one. Whatever is drawn from
/// LibTorch's default generator meanwhile, it goes on as before. Throws Error as TorchWork does.
BlockTable measureBlocks(TorchWorkOptions options, const Batch& microBatch,
                         const RoundsWanted& wanted);

}  // namespace pipetrace
