#pragma once

#include <algorithm>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "schedule/add_transfers.h"
#include "schedule/testing/second_opinion.h"

namespace pipetrace::test {

/// Random plans that can run: whatever work could be done next is done next.
class RandomPlans {
 public:
  explicit RandomPlans(unsigned seed) : random_(seed) {}

  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }

  Plan computeOnly() { return made(false); }

  /// Without backward passes; in about half of the cases with credits, with which it may deadlock.
  Plan forwardOnly() {
    Plan plan = made(true);
    if (below(2) == 0) plan.credits = 1 + below(3);
    return plan;
  }

  /// Asynchronous ones, many with stages on two ranks that take turns. The ranks may wait for each
  /// other at their updates, so some of these cannot run.
  Plan asynchronous() {
    takesTurns_ = true;
    Plan plan = any();
    takesTurns_ = false;
    plan.updates = WeightUpdates::alike(plan.numStages, 1 + below(3), below(2) == 1);
    for (int s = 0; s < plan.numStages; ++s) {
      const auto ranks = static_cast<int>(plan.placement.ranksOf(s).size());
      int& every = plan.updates.every[static_cast<std::size_t>(s)];
      if (below(8) != 0) every = ranks * (1 + below(2));
    }
    return plan;
  }

  /// The same as computeOnly(), in about half of the cases with its sends and receives.
  Plan any() {
    Plan plan = computeOnly();
    return below(2) == 0 ? plan : addTransfers(std::move(plan), {.ahead = below(4)});
  }

 private:
  Plan made(bool isForwardOnly) {
    isForwardOnly_ = isForwardOnly;
    plan_ = {};
    plan_.name = "random";
    const int ranks = 1 + below(4);
    plan_.ranks.resize(static_cast<std::size_t>(ranks));
    plan_.numMicroBatches = 1 + below(4);
    plan_.numStages = ranks + below(4);
    const bool isBidirectional = below(4) == 0 && plan_.numMicroBatches > 1;
    if (isBidirectional) plan_.numStages = ranks;
    std::vector<int> first;
    for (int s = 0; s < plan_.numStages; ++s) first.push_back(s < ranks ? s : below(ranks));
    std::shuffle(first.begin(), first.end(), random_);
    plan_.placement = Placement::ofRanks(first);
    if (isBidirectional) {
      for (std::size_t s = 0; s < first.size(); ++s) {
        plan_.placement.ranksOfStage[s].push_back(first[first.size() - 1 - s]);
      }
      const int most = plan_.numMicroBatches - 1;
      plan_.placement.run = most == 1 ? 1 : 2 + below(most - 1);
    } else if (below(takesTurns_ ? 2 : 4) == 0) {
      addMoreRanks(ranks);
    }
    fill();
    return plan_;
  }

  /// Puts stages on further ranks, and the whole in two replicas now and then.
  void addMoreRanks(int ranks) {
    for (std::vector<int>& ofStage : plan_.placement.ranksOfStage) {
      const int other = below(ranks);
      if (other != ofStage.front() && below(2) == 0) ofStage.push_back(other);
    }
    plan_.placement.run = takesTurns_ ? 1 : 1 + below(3);
    if (below(2) == 0) return;
    plan_.replicas = 2;
    plan_.numMicroBatches *= 2;
    plan_.ranks.resize(2 * plan_.ranks.size());
  }

  void fill() {
    done_.clear();
    split_ = below(3);  // no backward pass in halves, some, all
    recomputes_ = below(3) == 0;
    for (;;) {
      std::vector<Action> ready;
      for (int s = 0; s < plan_.numStages; ++s) {
        for (int m = 0; m < plan_.numMicroBatches; ++m) addReady(s, m, ready);
      }
      if (ready.empty()) return;
      const Action first = ready[static_cast<std::size_t>(below(static_cast<int>(ready.size())))];
      take(maybeFused(first, ready));
    }
  }

  bool has(char letter, int s, int m) const { return done_.count({letter, s, m}) > 0; }

  void addReady(int s, int m, std::vector<Action>& ready) {
    const bool gotInput = s == 0 || has('F', s - 1, m);
    const bool gotGradient = s + 1 == plan_.numStages || has('B', s + 1, m) || has('I', s + 1, m);
    if (!has('F', s, m)) {
      if (gotInput) ready.push_back({JobKind::kForward, s, m});
    } else if (isForwardOnly_) {
      return;
    } else if (!has('B', s, m) && !has('I', s, m)) {
      if (recomputes_ && !has('C', s, m)) ready.push_back({JobKind::kRecompute, s, m});
      const bool halves = split_ == 2 || (split_ == 1 && (s * 7 + m * 3) % 2 == 0);
      if (gotGradient) {
        ready.push_back({halves ? JobKind::kBackwardInput : JobKind::kBackward, s, m});
      }
    } else if (has('I', s, m) && !has('W', s, m)) {
      ready.push_back({JobKind::kBackwardWeight, s, m});
    }
  }

  Action maybeFused(const Action& first, const std::vector<Action>& ready) {
    if (first.kind != JobKind::kForward || below(2) == 0) return first;
    for (const Action& other : ready) {
      if (other.kind != JobKind::kBackward) continue;
      if (plan_.rankOf(other.stage, other.microBatch) !=
          plan_.rankOf(first.stage, first.microBatch)) {
        continue;
      }
      return {JobKind::kForwardBackward, first.stage, first.microBatch, other.stage,
              other.microBatch};
    }
    return first;
  }

  void take(const Action& action) {
    for (const Item& item : itemsOf(action)) done_.insert(item);
    plan_.ranks[static_cast<std::size_t>(plan_.rankOf(action.stage, action.microBatch))].push_back(
        action);
  }

  std::mt19937 random_;
  Plan plan_;
  std::set<Item> done_;
  int split_ = 0;
  bool recomputes_ = false;
  bool isForwardOnly_ = false;
  bool takesTurns_ = false;
};

}  // namespace pipetrace::test
