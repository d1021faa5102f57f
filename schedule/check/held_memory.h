#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "schedule/check/weight_versions.h"
#include "schedule/costs.h"
#include "schedule/plan.h"

namespace pipetrace {

/// The end of a forward's activation.
enum class HeldFor {
  kBackward,  ///< for its backward pass, or the weight half
  /// A forward-only plan: for the next stage's forward if that is on the same rank, else no longer
  /// than its own.
  kNextForward,
  kSend,  ///< the same with sends in the plan: if the next stage is elsewhere, for that send
};
HeldFor whatActivationsAreHeldFor(const Plan& plan);

/// The activations and the memory that a rank holds while it does its actions in order: call
/// begin() and end() for each. A forward takes its activation when it begins. The input half gives
/// back StageCosts::freedByInput of it when it ends, the weight half the rest. A whole backward
/// pass gives back all of it; in parts, the last one does. A forward that the rank recomputes gives
/// back StageCosts::recomputed when it ends, and the recompute takes it again; it counts as held
/// all the time. In a forward-only plan an activation is given back when its output has been used
/// or sent. Receives hold nothing. From begin() to end() a backward or its input half
/// has StageCosts::working beside that.
class HeldMemory {
 public:
  /// `costs` has all stages; plan and costs must outlive this. `weights` is what the rank's weights
  /// take.
  HeldMemory(const Plan& plan, HeldFor heldFor, const Costs& costs, std::int64_t weights, int rank);

  void begin(const Action& action);
  void end(const Action& action);

  int live() const { return live_; }               ///< activations
  std::int64_t memory() const { return memory_; }  ///< weights, activations, working

 private:
  const StageCosts& costsOf(int stage) const {
    return costs_.stages[static_cast<std::size_t>(stage)];
  }

  bool isOnSameRank(const Action& forward, int otherStage) const;
  bool isRecomputed(const Action& forward) const;
  std::int64_t workingOf(const Action& action) const;
  void endForward(const Action& forward);
  void free(int stage) {
    --live_;
    memory_ -= costsOf(stage).activation;
  }

  const Plan& plan_;
  HeldFor heldFor_;
  const Costs& costs_;
  std::vector<std::pair<int, int>> recomputed_;  // stages and micro-batches, sorted
  int live_ = 0;
  std::int64_t memory_;
};

/// By rank: the weights of its stages, in as many versions as the plan keeps.
std::vector<std::int64_t> weightsByRank(const Plan& plan, const Costs& costs,
                                        const WeightVersions& versions);

/// The most that a rank holds at once.
struct Peaks {
  int live = 0;
  std::int64_t memory = 0;
};
Peaks peaksOf(const Plan& plan, HeldFor heldFor, const Costs& costs, std::int64_t weights,
              int rank);

}  // namespace pipetrace
