#pragma once

#include <optional>
#include <vector>

#include "schedule/check/plan_index.h"

namespace pipetrace {

/// The versions of their weights that the stages of an asynchronous plan use and keep
/// (WeightUpdates). Version v of a stage is the result of its first v updates; a synchronous plan
/// uses version 0 throughout.
///
/// A stage on several ranks has the same versions on each. A rank comes to update n when it has
/// done its part of the first n + 1, and waits there for the others: their gradients are added. So
/// its next action has the new weights. A rank that has no part in the last update comes to it with
/// the one before.
struct WeightVersions {
  struct Stage {
    /// Most versions at once on a rank: the newest, and the older ones that some micro-batch still
    /// needs.
    int held = 1;
    PlanIndex::Position heldAt = {};  ///< the first action at which it holds that many
    /// Most updates between the version that a micro-batch uses and its own update: by how much its
    /// gradient is out of date.
    int distance = 0;
    PlanIndex::Position distanceAt = {};  ///< the first backward pass with that distance
  };
  /// Right after this action, and the sends behind it, the weights of `stage` change on its rank.
  struct Update {
    PlanIndex::Position after;
    int stage = 0;
    int number = 0;  ///< among those of the stage
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
  std::vector<int> used;   ///< by stage * numMicroBatches + microBatch; empty: 0 throughout
  std::vector<int> taken;  ///< by stage * numMicroBatches + microBatch: the number of the update
                           ///< that takes its gradient

  int usedBy(const Plan& plan, int stage, int microBatch) const {
    return used.empty() ? 0 : used[placeOf(plan, stage, microBatch)];
  }
  int takenBy(const Plan& plan, int stage, int microBatch) const {
    return taken.empty() ? 0 : taken[placeOf(plan, stage, microBatch)];
  }

 private:
  static std::size_t placeOf(const Plan& plan, int stage, int microBatch) {
    return static_cast<std::size_t>(stage) * static_cast<std::size_t>(plan.numMicroBatches) +
           static_cast<std::size_t>(microBatch);
  }
};

/// Finds what is wrong with an asynchronous plan's WeightUpdates; empty: nothing.
std::optional<Problem> wrongUpdates(const Plan& plan);

/// All actions of `plan` must be in range, and its updates not wrong. Linear in the number of
/// actions.
WeightVersions weightVersions(const Plan& plan);

}  // namespace pipetrace
