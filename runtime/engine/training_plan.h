#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "runtime/engine/strategy.h"

namespace pipetrace {

/// The plan of a strategy, of all replicas, before a model is known. Throws Error as
/// buildSchedule() does, and for a file that cannot be read or is no plan that can run.
CheckedPlan planOf(const Strategy& strategy);

/// Throws Error for what the plan cannot do: clipping and dynamic loss scales without a flush,
/// StashUpdate::kOldest with one.
void requireFits(const Strategy& strategy, const Plan& plan);

/// Throws Error if the number of processes is not that of the plan's ranks.
void requireWorldSize(const Plan& plan, int worldSize);

/// The partition of a model of that many blocks: as the strategy says, else evenly. Throws Error if
/// that does not fit.
Partition partitionOf(const Strategy& strategy, int blocks, int numStages);

/// How many parts the last backwards have: as the strategy says, else 2 under 1F1B where the
/// environment has PaddlePaddle's FLAGS_1f1b_backward_forward_overlap=1. `note` says how that
/// differs from PaddlePaddle, or that it does nothing here; else it stays empty.
int lastBackwardPartsOf(const Strategy& strategy, std::string& note);

/// The plan with its last backwards in parts, and the gradients of others in the strategy's
/// buckets, where stages are on several ranks. A stage with fewer blocks has one part for each.
/// Throws Error where no backward is the last, and for buckets of a plan without a flush.
CheckedPlan withGradientsCut(const CheckedPlan& plan, const Strategy& strategy, int parts,
                             const Partition& partition);

/// The plan with its messages in an order that runs in line, where its own does not: in the order
/// of their times, if all stages cost the same. Says so in `note`, which else stays empty.
CheckedPlan withMessagesInLine(CheckedPlan plan, std::string& note);

/// A plan as it trains a model.
struct TrainingPlan {
  CheckedPlan plan;
  Partition partition;
  std::vector<std::string> notes;  ///< for people
};

/// planOf() with what the model adds: recomputes, cut gradients, and, where messages run in line
/// (`inLine`), an order of these. Throws Error as all of these do.
TrainingPlan trainingPlanOf(const Strategy& strategy, int blocks, bool inLine);

/// Names and values that must be the same on all ranks that train so.
std::vector<std::pair<std::string, std::string>> factsOf(const TrainingPlan& training,
                                                         const Strategy& strategy,
                                                         std::uint64_t seed);

/// For evaluation: forwardPart() of a plan with the first `microBatches` of each replica, at most
/// as many as it has.
CheckedPlan forwardsOf(const CheckedPlan& plan, int microBatches);

}  // namespace pipetrace
