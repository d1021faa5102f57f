#pragma once

#include <cstdint>
#include <vector>

#include "runtime/costs/repeated_times.h"
#include "runtime/train/data/data_loader.h"
#include "runtime/train/torch_work.h"
#include "schedule/costs.h"
#include "schedule/partition/block_table.h"
#include "schedule/plan.h"
#include "trace/nanoseconds.h"

namespace pipetrace {

/// How a model's stages are measured, and how often.
struct MeasureOptions {
  bool wholeBackwards = true;
  bool halves = false;  ///< of backwards
  RoundsWanted wanted = {};
};

/// The costs of a training, found by trying.
struct MeasuredCosts {
  /// Times, activations, working memory, weights, and the sizes of messages. Messages and sums take
  /// no time.
  Costs costs;
  std::vector<Nanoseconds> optimizer;  ///< by stage: the update of its weights
  /// By stage: the gradients and the optimizer's state, of which there is one copy however many
  /// versions of the weights there are.
  std::vector<std::int64_t> updating;
};

/// Runs one micro-batch after the other through the whole model, on this thread and on the CPU, and
/// measures each stage's jobs (RepeatedTimes), as often as is wanted. Weights are updated
/// in every fourth of them. `microBatch` has the rows of one. The jobs are those of `plan`: whole
/// backwards or halves, and forwards that run again where options.partition says so.
///
/// A job's memory depends on the job alone, not on what else is held. So the peak of a step follows
/// (HeldMemory).
///
/// `options`: as of RanksInTurn. Takes the time of a few steps on one rank, and the memory of the
/// whole model, its gradients and its optimizer. Whatever is drawn from LibTorch's default
/// generator meanwhile, it goes on as before. Throws Error as TorchWork does, and for a plan
/// without backwards.
MeasuredCosts measureCosts(TorchWorkOptions options, const Plan& plan, const Batch& microBatch,
                           const RoundsWanted& wanted = {});

/// The same of the stages of options.partition, without a plan. `costs` has no optimizer. Throws
/// Error as TorchWork does.
MeasuredCosts measureStages(TorchWorkOptions options, const Batch& microBatch,
                            const MeasureOptions& how);

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
