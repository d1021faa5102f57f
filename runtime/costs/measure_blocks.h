#pragma once

#include "runtime/train/data/batch.h"
#include "runtime/train/torch_work.h"
#include "schedule/partition/block_table.h"
#include "trace/nanoseconds.h"

namespace pipetrace {

/// The costs of each block of a model, alone on a stage: its forward, its whole backward and both
/// halves, its update, and its memory (measureStages()). Takes `atLeast` and the time of a few
/// steps on one rank, in one thread, which is this one, and on the CPU.
///
/// `options` needs no partition; `microBatch` has the rows of one. Whatever is drawn from
/// LibTorch's default generator meanwhile, it goes on as before. Throws Error as TorchWork does.
BlockTable measureBlocks(TorchWorkOptions options, const Batch& microBatch, Nanoseconds atLeast);

}  // namespace pipetrace
