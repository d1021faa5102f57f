#include "schedule/check/weight_versions.h"

#include <algorithm>

namespace pipetrace {
namespace {

using Position = PlanIndex::Position;

/// One stage, action by action.
class StageWeights {
 public:
  StageWeights(const WeightUpdates& updates, int microBatches)
      : updates_(updates),
        groups_((microBatches + updates.every - 1) / updates.every),
        microBatches_(microBatches),
        users_(static_cast<std::size_t>(groups_) + 2, 0) {
    if (!updates_.doubleBuffered) return;
    for (int g = 0; g < groups_; ++g) {
      users_[static_cast<std::size_t>(versionOfGroup(g))] += sizeOfGroup(g);
      left_.push_back(sizeOfGroup(g));
    }
  }

  int held() const { return 1 + olderHeld_; }
  int current() const { return current_; }

  /// The version that the forward of a micro-batch takes; larger than current(): not there yet.
  int takeFor(int microBatch) {
    if (updates_.doubleBuffered) return versionOfGroup(microBatch / updates_.every);
    ++users_[static_cast<std::size_t>(current_)];
    return current_;
  }

  /// How many updates lie between the version and the micro-batch's own update.
  int distanceOf(int microBatch, int version) const {
    return (updates_.doubleBuffered ? microBatch / updates_.every : current_) - version;
  }

  /// Ends the backward pass of a micro-batch. Returns the number of updates that follow from that.
  int release(int microBatch, int version) {
    if (--users_[static_cast<std::size_t>(version)] == 0 && version < current_) --olderHeld_;
    const int before = current_;
    ++done_;
    if (updates_.doubleBuffered) {
      --left_[static_cast<std::size_t>(microBatch / updates_.every)];
      while (current_ < groups_ && left_[static_cast<std::size_t>(current_)] == 0) update();
    } else if (done_ % updates_.every == 0 || done_ == microBatches_) {
      update();
    }
    return current_ - before;
  }

 private:
  static int versionOfGroup(int group) { return std::max(0, group - 1); }
  int sizeOfGroup(int group) const {
    return std::min(updates_.every, microBatches_ - group * updates_.every);
  }

  void update() {
    olderHeld_ += users_[static_cast<std::size_t>(current_)] > 0;
    ++current_;
  }

  WeightUpdates updates_;
  int groups_;
  int microBatches_;
  std::vector<int> users_;  // by version
  std::vector<int> left_;   // by group of a double-buffered plan: backward passes to come
  int current_ = 0;
  int olderHeld_ = 0;  // versions before the current one that are still needed
  int done_ = 0;
};

class Walk {
 public:
  explicit Walk(const Plan& plan) : plan_(plan) {
    const auto stages = static_cast<std::size_t>(plan.numStages);
    result_.stages.resize(stages);
    if (plan.updates.every > 0) {
      result_.used.assign(stages * static_cast<std::size_t>(plan.numMicroBatches), 0);
      states_.assign(stages, StageWeights(plan.updates, plan.numMicroBatches));
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
    if (action.kind == JobKind::kBackward || action.kind == JobKind::kBackwardWeight) {
      backward(action.stage, action.microBatch, at);
    }
  }

  void forward(int stage, int microBatch, Position at) {
    StageWeights& state = states_[static_cast<std::size_t>(stage)];
    const int version = state.takeFor(microBatch);
    used(stage, microBatch) = version;
    if (version > state.current()) result_.tooEarly.push_back({at, stage, microBatch, version});
    noteHeld(stage, at);
  }

  void backward(int stage, int microBatch, Position at) {
    StageWeights& state = states_[static_cast<std::size_t>(stage)];
    WeightVersions::Stage& found = result_.stages[static_cast<std::size_t>(stage)];
    const int version = used(stage, microBatch);
    const int distance = state.distanceOf(microBatch, version);
    if (distance > found.distance) {
      found.distance = distance;
      found.distanceAt = at;
    }
    for (int n = state.release(microBatch, version); n > 0; --n) {
      result_.updates.push_back({at, stage});
    }
    noteHeld(stage, at);
  }

  void noteHeld(int stage, Position at) {
    WeightVersions::Stage& found = result_.stages[static_cast<std::size_t>(stage)];
    const int held = states_[static_cast<std::size_t>(stage)].held();
    if (held <= found.held) return;
    found.held = held;
    found.heldAt = at;
  }

  int& used(int stage, int microBatch) {
    return result_
        .used[static_cast<std::size_t>(stage) * static_cast<std::size_t>(plan_.numMicroBatches) +
              static_cast<std::size_t>(microBatch)];
  }

  const Plan& plan_;
  WeightVersions result_;
  std::vector<StageWeights> states_;
};

}  // namespace

WeightVersions weightVersions(const Plan& plan) { return Walk(plan).run(); }

}  // namespace pipetrace
