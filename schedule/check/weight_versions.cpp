#include "schedule/check/weight_versions.h"

#include <algorithm>
#include <string>
#include <utility>

namespace pipetrace {
namespace {

using Position = PlanIndex::Position;

/// A stage on one of its ranks, action by action.
class StageWeights {
 public:
  /// The rank runs the micro-batches `first`, `first` + `step`, ... of a replica, which has
  /// `microBatches`.
  StageWeights(const WeightUpdates& updates, int stage, int microBatches, int first, int step)
      : every_(updates.everyOf(stage)),
        doubleBuffered_(updates.doubleBuffered),
        groups_((microBatches + every_ - 1) / every_),
        ofRank_((microBatches - first + step - 1) / step),
        everyOfRank_(every_ / step),
        users_(static_cast<std::size_t>(groups_) + 2, 0) {
    if (!doubleBuffered_) return;
    left_.assign(static_cast<std::size_t>(groups_), 0);
    for (int m = first; m < microBatches; m += step) {
      ++users_[static_cast<std::size_t>(versionOfGroup(m / every_))];
      ++left_[static_cast<std::size_t>(m / every_)];
    }
  }

  int held() const { return 1 + olderHeld_; }
  int current() const { return current_; }

  // Micro-batches are numbered in the replica.

  /// The version that the forward of a micro-batch takes; larger than current(): not there yet.
  int takeFor(int microBatch) {
    if (doubleBuffered_) return versionOfGroup(microBatch / every_);
    ++users_[static_cast<std::size_t>(current_)];
    return current_;
  }

  /// The number of the update that takes the gradient of the micro-batch whose backward runs now.
  int takerOf(int microBatch) const { return doubleBuffered_ ? microBatch / every_ : current_; }

  /// Ends the backward pass of a micro-batch. Returns the number of updates that follow from that.
  int release(int microBatch, int version) {
    if (--users_[static_cast<std::size_t>(version)] == 0 && version < current_) --olderHeld_;
    const int before = current_;
    ++done_;
    if (doubleBuffered_) {
      --left_[static_cast<std::size_t>(microBatch / every_)];
      while (current_ < groups_ && left_[static_cast<std::size_t>(current_)] == 0) update();
    } else if (done_ == ofRank_) {
      while (current_ < groups_) update();
    } else if (done_ % everyOfRank_ == 0 && current_ < groups_) {
      update();
    }
    return current_ - before;
  }

 private:
  static int versionOfGroup(int group) { return std::max(0, group - 1); }

  void update() {
    olderHeld_ += users_[static_cast<std::size_t>(current_)] > 0;
    ++current_;
  }

  int every_;
  bool doubleBuffered_;
  int groups_;
  int ofRank_;              // micro-batches of this rank
  int everyOfRank_;         // of these, in an update
  std::vector<int> users_;  // by version
  std::vector<int> left_;   // by group of a double-buffered plan: backward passes to come
  int current_ = 0;
  int olderHeld_ = 0;  // versions before the current one that are still needed
  int done_ = 0;
};

class VersionWalk {
 public:
  explicit VersionWalk(const Plan& plan) : plan_(plan) {
    const auto stages = static_cast<std::size_t>(plan.numStages);
    result_.stages.resize(stages);
    if (!plan.isAsynchronous()) return;
    result_.used.assign(stages * static_cast<std::size_t>(plan.numMicroBatches), 0);
    result_.taken = result_.used;
    states_.resize(stages);
    for (int s = 0; s < plan.numStages; ++s) {
      const std::vector<int>& ranks = plan.placement.ranksOf(s);
      for (int replica = 0; replica < plan.replicas; ++replica) {
        for (std::size_t turn = 0; turn < ranks.size(); ++turn) {
          states_[static_cast<std::size_t>(s)].emplace_back(
              plan.updates, s, plan.microBatchesOfReplica(), static_cast<int>(turn),
              static_cast<int>(ranks.size()));
        }
      }
    }
  }

  WeightVersions run() {
    if (states_.empty()) return std::move(result_);
    for (int rank = 0; rank < plan_.numRanks(); ++rank) {
      const auto& actions = plan_.ranks[static_cast<std::size_t>(rank)];
      for (std::size_t i = 0; i < actions.size(); ++i) {
        visit(actions[i], {rank, static_cast<int>(i)});
      }
    }
    return std::move(result_);
  }

 private:
  void visit(const Action& action, Position at) {
    const bool fused = action.kind == JobKind::kForwardBackward;
    if (fused || action.kind == JobKind::kForward) forward(action.stage, action.microBatch, at);
    if (fused) backward(action.backwardStage, action.backwardMicroBatch, at);
    if (mayHaveParts(action.kind) && action.isLastPart()) {
      backward(action.stage, action.microBatch, at);
    }
  }

  /// That of the rank to which the micro-batch belongs.
  StageWeights& stateOf(int stage, int microBatch) {
    std::vector<StageWeights>& states = states_[static_cast<std::size_t>(stage)];
    const auto ranks = static_cast<int>(plan_.placement.ranksOf(stage).size());
    const int size = std::max(plan_.microBatchesOfReplica(), 1);
    const int replica = std::min(microBatch / size, plan_.replicas - 1);
    return states[static_cast<std::size_t>(replica * ranks +
                                           (microBatch - replica * size) % ranks)];
  }

  void forward(int stage, int microBatch, Position at) {
    StageWeights& state = stateOf(stage, microBatch);
    const int version = state.takeFor(plan_.numberInReplica(microBatch));
    result_.used[place(stage, microBatch)] = version;
    if (version > state.current()) result_.tooEarly.push_back({at, stage, microBatch, version});
    noteHeld(stage, state, at);
  }

  void backward(int stage, int microBatch, Position at) {
    StageWeights& state = stateOf(stage, microBatch);
    WeightVersions::Stage& found = result_.stages[static_cast<std::size_t>(stage)];
    const int version = result_.used[place(stage, microBatch)];
    const int own = plan_.numberInReplica(microBatch);
    const int taker = state.takerOf(own);
    result_.taken[place(stage, microBatch)] = taker;
    if (taker - version > found.distance) {
      found.distance = taker - version;
      found.distanceAt = at;
    }
    int number = state.current();
    for (int n = state.release(own, version); n > 0; --n) {
      result_.updates.push_back({at, stage, number++});
    }
    noteHeld(stage, state, at);
  }

  void noteHeld(int stage, const StageWeights& state, Position at) {
    WeightVersions::Stage& found = result_.stages[static_cast<std::size_t>(stage)];
    if (state.held() <= found.held) return;
    found.held = state.held();
    found.heldAt = at;
  }

  std::size_t place(int stage, int microBatch) const {
    return static_cast<std::size_t>(stage) * static_cast<std::size_t>(plan_.numMicroBatches) +
           static_cast<std::size_t>(microBatch);
  }

  const Plan& plan_;
  WeightVersions result_;
  std::vector<std::vector<StageWeights>> states_;  // by stage: by replica and turn
};

std::string wrongUpdatesOf(const Plan& plan, int stage) {
  const std::string who = "stage " + std::to_string(stage);
  const int every = plan.updates.everyOf(stage);
  if (every < 1) {
    return who + " changes its weights after " + std::to_string(every) +
           " micro-batches; that is 1 or more";
  }
  const std::vector<int>& ranks = plan.placement.ranksOf(stage);
  const auto count = static_cast<int>(ranks.size());
  if (count == 1) return "";
  const std::string many = std::to_string(count) + " ranks";
  if (plan.placement.run != 1) {
    return who + " runs on " + many + " for " + std::to_string(plan.placement.run) +
           " micro-batches each; where weights change without a flush, ranks take turns (run = 1)";
  }
  if (plan.ranksOf(stage).size() != ranks.size() * static_cast<std::size_t>(plan.replicas)) {
    return who + " has a rank twice, which cannot be where weights change without a flush";
  }
  if (every % count != 0) {
    return who + " is on " + many + " and changes its weights after " + std::to_string(every) +
           " micro-batches; make that a multiple of " + std::to_string(count) +
           ", so that an update has as many of each rank";
  }
  if (plan.microBatchesOfReplica() < count) {
    return who + " is on " + many + ", and there are only " +
           std::to_string(plan.microBatchesOfReplica()) +
           " micro-batches; where weights change without a flush, each rank has one";
  }
  return "";
}

}  // namespace

std::optional<Problem> wrongUpdates(const Plan& plan) {
  if (!plan.isAsynchronous()) return {};
  if (plan.updates.every.size() != static_cast<std::size_t>(plan.numStages)) {
    return Problem{.message = "the plan says of " + std::to_string(plan.updates.every.size()) +
                              " stages how often their weights change, and has " +
                              std::to_string(plan.numStages)};
  }
  for (int s = 0; s < plan.numStages; ++s) {
    std::string wrong = wrongUpdatesOf(plan, s);
    if (!wrong.empty()) return Problem{.message = std::move(wrong)};
  }
  return {};
}

WeightVersions weightVersions(const Plan& plan) { return VersionWalk(plan).run(); }

}  // namespace pipetrace
