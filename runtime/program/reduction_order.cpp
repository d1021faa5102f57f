#include "runtime/program/reduction_order.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "trace/error.h"

namespace pipetrace {
namespace {

using Group = std::vector<PlannedReduction>;

class Order {
 public:
  explicit Order(const Plan& plan) : plan_(plan) {
    for (int rank = 0; rank < plan_.numRanks(); ++rank) findGroups(rank);
    for (int rank = 0; rank < plan_.numRanks(); ++rank) follow(rank);
  }

  /// The first group that follows none of those left; of a circle, in which rows disagree, the
  /// first.
  std::vector<Group> sorted() {
    std::vector<Group> result;
    std::set<std::size_t> left;
    for (std::size_t i = 0; i < groups_.size(); ++i) left.insert(i);
    while (!left.empty()) {
      const auto isFree = [&](std::size_t group) {
        return std::none_of(before_[group].begin(), before_[group].end(),
                            [&](std::size_t other) { return left.contains(other); });
      };
      const auto found = std::find_if(left.begin(), left.end(), isFree);
      const std::size_t next = found == left.end() ? *left.begin() : *found;
      result.push_back(groups_[next]);
      left.erase(next);
    }
    return result;
  }

 private:
  bool isReduction(const Action& action) const {
    return action.kind == JobKind::kReduceScatter && plan_.ranksOf(action.stage).size() > 1;
  }

  /// Those of the stages whose first rank it is.
  void findGroups(int rank) {
    std::map<int, int> turns;  // by stage
    int last = -1;             // the stage of the action before, if that is a reduction
    for (const Action& action : plan_.ranks[static_cast<std::size_t>(rank)]) {
      if (!isReduction(action)) {
        last = -1;
        continue;
      }
      const int stage = action.stage;
      const PlannedReduction own{.stage = stage, .turn = turns[stage]++};
      const bool follows = std::exchange(last, stage) == stage;
      if (plan_.ranksOf(stage).front() != rank) continue;
      if (!follows) groups_.emplace_back();
      groupOf_[{stage, own.turn}] = groups_.size() - 1;
      groups_.back().push_back(own);
    }
    before_.resize(groups_.size());
  }

  /// The groups of a rank follow each other as in its row.
  void follow(int rank) {
    std::map<int, int> turns;
    const std::size_t none = groups_.size();
    std::size_t last = none;
    for (const Action& action : plan_.ranks[static_cast<std::size_t>(rank)]) {
      if (!isReduction(action)) continue;
      const std::size_t group = groupOf_.at({action.stage, turns[action.stage]++});
      if (last != none && last != group) before_[group].insert(last);
      last = group;
    }
  }

  const Plan& plan_;
  std::vector<Group> groups_;
  std::map<std::pair<int, int>, std::size_t> groupOf_;  // by stage and turn
  std::vector<std::set<std::size_t>> before_;           // by group
};

void requireAlike(const Plan& plan, int stage) {
  const std::vector<int> ranks = plan.ranksOf(stage);
  const auto of = [&](int rank) {
    return bucketsOf(plan.ranks[static_cast<std::size_t>(rank)], stage);
  };
  for (const int rank : ranks) {
    if (of(rank) == of(ranks.front())) continue;
    const auto count = [&](int at) { return std::to_string(of(at).size()); };
    throw Error("rank " + std::to_string(rank) + " has " + count(rank) + " REDUCE_GRAD of stage " +
                std::to_string(stage) + ", and rank " + std::to_string(ranks.front()) + " has " +
                count(ranks.front()) +
                " or others; give all ranks of a stage the same ones, in the same order");
  }
}

void addBuckets(const std::vector<Action>& row, RankProgram::Copies& copies, RankProgram& program) {
  const std::vector<int> buckets = bucketsOf(row, copies.stage);
  for (auto own = buckets.begin(); own != buckets.end(); ++own) {
    const int index = copies.reductions[static_cast<std::size_t>(own - buckets.begin())];
    RankProgram::Reduction& reduction = program.reductions[static_cast<std::size_t>(index)];
    reduction.bucket = *own;
    reduction.isTrained = std::find(own + 1, buckets.end(), *own) == buckets.end();
    copies.buckets = std::max(copies.buckets, *own + 1);
  }
  for (const RankProgram::Copies::Peer& peer : copies.peers) {
    for (const int lane : {peer.send.lane, peer.receive.lane}) {
      // Two rounds each; one message is counted already.
      program.lanes[static_cast<std::size_t>(lane)].messages +=
          2 * std::max<std::size_t>(buckets.size(), 1) - 1;
    }
  }
}

}  // namespace

std::vector<int> bucketsOf(const std::vector<Action>& row, int stage) {
  std::vector<int> buckets;
  std::set<int> numbers;
  for (const Action& action : row) {
    if (action.kind != JobKind::kReduceScatter || action.stage != stage) continue;
    buckets.push_back(action.microBatch);
    numbers.insert(action.microBatch);
  }
  for (int& bucket : buckets) {
    bucket = static_cast<int>(std::distance(numbers.begin(), numbers.find(bucket)));
  }
  return buckets;
}

std::vector<std::vector<PlannedReduction>> reductionOrder(const Plan& plan) {
  for (int stage = 0; stage < plan.numStages; ++stage) requireAlike(plan, stage);
  return Order(plan).sorted();
}

void completeReductions(const Plan& plan, int rank, RankProgram& program) {
  for (RankProgram::Copies& copies : program.copies) {
    addBuckets(plan.ranks[static_cast<std::size_t>(rank)], copies, program);
  }
  if (program.reductions.empty()) return;
  for (const Group& group : reductionOrder(plan)) {
    for (const auto round : {RankProgram::Round::kParts, RankProgram::Round::kSums}) {
      for (const PlannedReduction& planned : group) {
        for (const RankProgram::Copies& copies : program.copies) {
          if (copies.stage != planned.stage) continue;
          const int reduction = copies.reductions[static_cast<std::size_t>(planned.turn)];
          program.exchanges.push_back({.reduction = reduction, .round = round});
        }
      }
    }
  }
}

}  // namespace pipetrace
