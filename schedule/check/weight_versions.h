#pragma once

#include <vector>

#include "schedule/check/plan_index.h"

namespace pipetrace {

/// The versions of their weights that the stages of an asynchronous plan use and keep
/// (WeightUpdates). Version v of a stage is the result of its first v updates; a synchronous plan
/// uses version 0 throughout.
struct WeightVersions {
  struct Stage {
    /// Most versions at once: the newest, and the older ones that some micro-batch still needs.
    int held = 1;
    PlanIndex::Position heldAt = {};  ///< the first action at which it holds that many
    /// Most updates between the version that a micro-batch uses and its own update: by how much its
    /// gradient is out of date.
    int distance = 0;
    PlanIndex::Position distanceAt = {};  ///< the first backward pass with that distance
  };
  /// Right after this action the weights of `stage` change.
  struct Update {
    PlanIndex::Position after;
    int stage = 0;
  };
  /// A forward of a double-buffered plan whose weights do not exist yet. The update that makes them
  /// comes after it on its rank, so the stage would need a third version.
  struct TooEarly {
    PlanIndex::Position at;
    int stage = 0;
    int microBatch = 0;
    int version = 0;
  };

  std::vector<Stage> stages;
  std::vector<Update> updates;  ///< by rank, then in order
  std::vector<TooEarly> tooEarly;
  std::vector<int> used;  ///< by stage * numMicroBatches + microBatch; empty: 0 throughout

  int usedBy(const Plan& plan, int stage, int microBatch) const {
    if (used.empty()) return 0;
    return used[static_cast<std::size_t>(stage) * static_cast<std::size_t>(plan.numMicroBatches) +
                static_cast<std::size_t>(microBatch)];
  }
};

/// All actions of `plan` must be in range. Linear in the number of actions.
WeightVersions weightVersions(const Plan& plan);

}  // namespace pipetrace
