#include "schedule/simulate/order_messages.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "schedule/add_transfers.h"
#include "schedule/simulate/plan_timing.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

/// In the order, an action of no time begins after the one before it.
Costs withoutEmptyJobs(Costs costs) {
  const auto atLeastOne = [](Nanoseconds& time) { time = std::max<Nanoseconds>(time, 1); };
  for (StageCosts& stage : costs.stages) {
    atLeastOne(stage.forward);
    atLeastOne(stage.backward);
    atLeastOne(stage.backwardInput);
    atLeastOne(stage.backwardWeight);
    atLeastOne(stage.recompute);
    if (stage.forwardBackward >= 0) atLeastOne(stage.forwardBackward);
  }
  return costs;
}

/// Numbers of messages, in their order.
std::vector<int> orderOf(const PlanTiming& timing) {
  std::vector<int> messages;
  for (int message = 0; message < timing.messageCount(); ++message) {
    if (timing.network().userOf(message) != PlanTiming::kNone) messages.push_back(message);
  }
  const auto key = [&](int message) {
    const int user = timing.network().userOf(message);
    const int receive = timing.network().receiveOf(message);
    return std::tuple(timing.span(receive).begin, timing.span(user).begin, timing.rankOf(user),
                      timing.action(receive).stage, timing.action(receive).microBatch, message);
  };
  std::sort(messages.begin(), messages.end(), [&](int a, int b) { return key(a) < key(b); });
  return messages;
}

/// A message's end in a row: it stands right before the compute action of that cell.
struct Placed {
  int cell = 0;
  Action action;
};

std::vector<Action> merged(const std::vector<Action>& actions, const std::vector<Placed>& placed) {
  std::vector<Action> row;
  row.reserve(actions.size() + placed.size());
  auto next = placed.begin();
  for (int cell = 0; cell <= static_cast<int>(actions.size()); ++cell) {
    for (; next != placed.end() && next->cell == cell; ++next) row.push_back(next->action);
    if (cell < static_cast<int>(actions.size())) {
      row.push_back(actions[static_cast<std::size_t>(cell)]);
    }
  }
  return row;
}

/// Gives ranks their turns.
class Turns {
 public:
  explicit Turns(const Plan& plan)
      : plan_(plan),
        index_(plan),
        done_(plan.ranks.size(), 0),
        pauses_(plan.ranks.size(), 0),
        rows_(plan.ranks.size()) {
    if (!plan.hasAny(isDataParallel)) findLastOfStages();
  }

  std::vector<std::vector<Action>> run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (int rank = 0; rank < plan_.numRanks(); ++rank) moved = take(rank) || moved;
    }
    return std::move(rows_);
  }

 private:
  /// After these torch has two turns for REDUCE_GRAD and RESHARD.
  void findLastOfStages() {
    for (const auto& actions : plan_.ranks) {
      std::vector<char>& isLast = isLastOfStage_.emplace_back(actions.size(), 0);
      std::set<int> seen;
      for (std::size_t i = actions.size(); i-- > 0;) {
        const Action& action = actions[i];
        const bool isFused = action.kind == JobKind::kForwardBackward;
        const bool isBackward = isFused || action.kind == JobKind::kBackward ||
                                action.kind == JobKind::kBackwardInput ||
                                action.kind == JobKind::kBackwardWeight;
        if (!isBackward) continue;
        isLast[i] = seen.insert(isFused ? action.backwardStage : action.stage).second ? 1 : 0;
      }
    }
  }

  bool take(int rank) {
    constexpr int kTurnsAfterStage = 2;
    const auto r = static_cast<std::size_t>(rank);
    const auto& actions = plan_.ranks[r];
    int& done = done_[r];
    if (pauses_[r] > 0) {
      --pauses_[r];
      return true;
    }
    if (done == static_cast<int>(actions.size())) return false;
    const Action& action = actions[static_cast<std::size_t>(done)];
    for (const PlanIndex::Position& input : index_.inputsOf(action)) {
      // Its receive came with its send.
      if (done_[static_cast<std::size_t>(input.rank)] <= input.cell) return false;
    }
    if (!isLastOfStage_.empty() && isLastOfStage_[r][static_cast<std::size_t>(done)] != 0) {
      pauses_[r] = kTurnsAfterStage;
    }
    ++done;
    rows_[r].push_back(action);
    for (const PlannedMessage& message : messagesFrom(action)) {
      if (!index_.crossesRanks(message)) continue;
      rows_[r].push_back(sendOf(message));
      const int receiver = plan_.rankOf(message.to(), message.microBatch);
      rows_[static_cast<std::size_t>(receiver)].push_back(receiveOf(message));
    }
    return true;
  }

  const Plan& plan_;
  const PlanIndex index_;
  std::vector<int> done_;
  std::vector<int> pauses_;                       // turns that a rank does not use
  std::vector<std::vector<char>> isLastOfStage_;  // by rank and cell; none: the plan has the cells
  std::vector<std::vector<Action>> rows_;
};

}  // namespace

Plan withMessagesInTime(const CheckedPlan& plan, const Costs& costs) {
  Plan ordered = withoutTransfers(*plan);
  if (!plan->hasMessages()) return ordered;
  const CheckedPlan full = withTransfers(ordered, 0);
  const Costs used = withoutEmptyJobs(costs);
  PlanTiming timing(full, used, CommStreams::kMessage);
  std::vector<Nanoseconds> free(full->ranks.size(), 0);
  timing.run(free);

  std::vector<std::vector<int>> cellOf;  // of the compute plan, by rank and cell of the full one
  for (const auto& actions : full->ranks) {
    std::vector<int>& cells = cellOf.emplace_back();
    int cell = 0;
    for (const Action& action : actions) cells.push_back(isTransfer(action.kind) ? cell : cell++);
  }
  const auto computeCell = [&](int number) {
    const PlanIndex::Position at = timing.network().positionOf(number);
    return cellOf[static_cast<std::size_t>(at.rank)][static_cast<std::size_t>(at.cell)];
  };
  std::vector<std::vector<Placed>> placed(full->ranks.size());
  const auto place = [&](int number, int earliest) {
    auto& list = placed[static_cast<std::size_t>(timing.rankOf(number))];
    if (!list.empty()) earliest = std::max(earliest, list.back().cell);
    list.push_back({earliest, timing.action(number)});
  };
  for (const int message : orderOf(timing)) {
    place(timing.network().sendOf(message), computeCell(PlanNetwork::makerOf(message)) + 1);
    place(timing.network().receiveOf(message), 0);
  }
  for (std::size_t r = 0; r < placed.size(); ++r) {
    ordered.ranks[r] = merged(ordered.ranks[r], placed[r]);
  }
  return ordered;
}

Plan withMessagesOfTorch(const CheckedPlan& plan) {
  if (plan->credits > 0) {
    throw Error("messages of " + plan->name +
                " cannot be ordered as torch does: torch has no credits (--credits 0 takes them "
                "away)");
  }
  Plan ordered = withoutTransfers(*plan);
  ordered.ranks = Turns(ordered).run();
  return ordered;
}

}  // namespace pipetrace
