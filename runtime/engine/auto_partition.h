#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "runtime/costs/repeated_times.h"
#include "runtime/engine/data_set.h"
#include "runtime/engine/engine.h"
#include "schedule/partition/best_partition.h"

namespace pipetrace {

struct BestPartitionOptions {
  std::int64_t memoryLimit = 0;  ///< bytes of a rank, that a step may take; 0: there is no limit
  /// Where rank 0 writes the partition (readPartition()). Empty: nowhere. A file that is there
  /// must be one that was written so.
  std::string file = {};
  /// Gets the costs of the blocks as soon as they are measured, on rank 0. May be empty.
  std::function<void(const BlockTable&)> onMeasured = {};
  /// How long rank 0 measures. Where others use the machine, too, it takes longer until times are
  /// settled (RepeatedTimes).
  RoundsWanted measured = {.rounds = 5, .atLeast = 1'500 * kNsPerMs, .atMost = 20'000 * kNsPerMs};
};

/// A partition that was found by measuring, and what that has cost.
struct MeasuredPartition {
  Partition partition;
  BlockTable blocks;    ///< as they were measured
  BestPartition found;  ///< its step, and that of the even partition
  Nanoseconds measuring = 0;
  Nanoseconds searching = 0;
};

/// Throws Error for what measuredPartition() and useBestPartition() refuse before they measure.
/// That is another device than the CPU, and fewer blocks than stages. It is a plan without backward
/// passes, with recomputes of its own, or made for the costs of its stages (`auto`). And it is a
/// file that is there and was not written so, or that cannot be written.
void requireMeasurable(const Strategy& strategy, const std::string& device, int numBlocks,
                       const BestPartitionOptions& how);

/// Measures each block of the model alone, in this thread and on the CPU (measureBlocks()). Then it
/// finds the partition whose step is shortest in simulation (bestPartition()), with the plan of
/// `strategy`. Messages and sums of gradients take no time. The memory of a rank has weights,
/// gradients, the optimizer's state, activations and working memory. The strategy's own partition
/// and ratios are not used.
///
/// It takes the memory of the whole model, its gradients and its optimizer. Throws Error if no
/// partition fits into the limit, with what is missing, and as TorchWork and requireMeasurable()
/// do.
MeasuredPartition measuredPartition(const Model& model, const OptimizerMaker& optimizer,
                                    const Strategy& strategy, const EngineOptions& options,
                                    const DataSet& data, const BestPartitionOptions& how);

/// Gives `strategy` the partition of measuredPartition(), before an engine is made of it. In a run
/// of several processes all call it, with the same arguments. Rank 0 measures, and the others wait
/// for it in the run's store, which `options` keeps for the engine. Rank 0 prints what was found
/// (EngineOptions::print), and what it has cost.
///
/// Throws Error as measuredPartition() does, on all ranks.
void useBestPartition(const Model& model, const OptimizerMaker& optimizer, Strategy& strategy,
                      EngineOptions& options, const DataSet& data,
                      const BestPartitionOptions& how = {});

}  // namespace pipetrace
