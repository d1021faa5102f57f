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
      // An update comes between those of a plan without a flush.
      const bool follows = std::exchange(last, stage) == stage && !plan_.isAsynchronous();
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
    const auto parts = [&](int at) {
      return partsOf(plan.ranks[static_cast<std::size_t>(at)], stage);
    };
    if (parts(rank) != parts(ranks.front())) {
      throw Error("rank " + std::to_string(rank) + " has the last backward of stage " +
                  std::to_string(stage) + " in " + std::to_string(parts(rank)) + ", and rank " +
                  std::to_string(ranks.front()) + " in " + std::to_string(parts(ranks.front())) +
                  "; cut it alike on all of its ranks");
    }
    if (of(rank) == of(ranks.front())) continue;
    const auto count = [&](int at) { return std::to_string(of(at).size()); };
    throw Error("rank " + std::to_string(rank) + " has " + count(rank) + " REDUCE_GRAD of stage " +
                std::to_string(stage) + ", and rank " + std::to_string(ranks.front()) + " has " +
                count(ranks.front()) +
                " or others; give all ranks of a stage the same ones, in the same order");
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

int partsOf(const std::vector<Action>& row, int stage) {
  int parts = 1;
  for (const Action& action : row) {
    if (action.isPart() && action.stage == stage) parts = action.parts;
  }
  return parts;
}

std::vector<std::vector<PlannedReduction>> reductionOrder(const Plan& plan) {
  for (int stage = 0; stage < plan.numStages; ++stage) requireAlike(plan, stage);
  return Order(plan).sorted();
}

std::vector<RankProgram::Exchange> exchangesOf(const Plan& plan, const RankProgram& program) {
  std::vector<RankProgram::Exchange> exchanges;
  if (program.reductions.empty()) return exchanges;
  for (const Group& group : reductionOrder(plan)) {
    for (const auto round : {RankProgram::Round::kParts, RankProgram::Round::kSums}) {
      for (const PlannedReduction& planned : group) {
        for (const RankProgram::StageReplicas& replicas : program.stageReplicas) {
          if (replicas.stage != planned.stage) continue;
          const int reduction = replicas.reductions[static_cast<std::size_t>(planned.turn)];
          exchanges.push_back({.reduction = reduction, .round = round});
        }
      }
    }
  }
  return exchanges;
}

}  // namespace pipetrace
