#include "runtime/blocking_sends.h"

#include <algorithm>
#include <vector>

#include "schedule/check/plan_index.h"

namespace pipetrace {

std::string stuckSend(const CheckedPlan& full) {
  const Plan& plan = *full;
  const PlanIndex index(plan);
  std::vector<int> done(plan.ranks.size(), 0);  // by rank: actions that are over
  const auto isOver = [&](PlanIndex::Position position) {
    return done[static_cast<std::size_t>(position.rank)] > position.cell;
  };
  const auto canEnd = [&](const Action& action) {
    if (isSend(action.kind)) return isOver(index.receiveAt(messageOf(action)));
    const PlannedMessages needed = messagesTo(action);  // a receive needs none
    return std::all_of(needed.begin(), needed.end(), [&](const PlannedMessage& message) {
      if (!index.crossesRanks(message)) return true;
      const PlanIndex::Position send = index.sendAt(message);
      return isOver(send) || done[static_cast<std::size_t>(send.rank)] == send.cell;
    });
  };
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t rank = 0; rank < plan.ranks.size(); ++rank) {
      const std::vector<Action>& actions = plan.ranks[rank];
      int& at = done[rank];
      while (at < static_cast<int>(actions.size()) &&
             canEnd(actions[static_cast<std::size_t>(at)])) {
        ++at;
        moved = true;
      }
    }
  }
  for (std::size_t rank = 0; rank < plan.ranks.size(); ++rank) {
    const auto at = static_cast<std::size_t>(done[rank]);
    if (at == plan.ranks[rank].size() || !isSend(plan.ranks[rank][at].kind)) continue;
    return "rank " + std::to_string(rank) + " would wait in " + toText(plan.ranks[rank][at]) +
           " for ever";
  }
  return "";
}

}  // namespace pipetrace
