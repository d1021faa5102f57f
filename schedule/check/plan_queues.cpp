#include "schedule/check/plan_queues.h"

#include <map>
#include <utility>

namespace pipetrace {

PlanQueues::PlanQueues(const Plan& plan, const PlanIndex& index, CommStreams commStreams)
    : plan_(plan) {
  if (commStreams == CommStreams::kAsReached) return;
  queues_.resize(plan.ranks.size());
  std::map<std::pair<int, int>, std::size_t> lines;  // by rank and line of it
  for (int rank = 0; rank < plan.numRanks(); ++rank) {
    const auto& actions = plan.ranks[static_cast<std::size_t>(rank)];
    places_.emplace_back(actions.size());
    for (int cell = 0; cell < static_cast<int>(actions.size()); ++cell) {
      const Action& action = actions[static_cast<std::size_t>(cell)];
      std::size_t queue = static_cast<std::size_t>(rank);
      if (isTransfer(action.kind)) {
        const PlannedMessage message = messageOf(action);
        const Position other =
            isSend(action.kind) ? index.receiveAt(message) : index.sendAt(message);
        queue = queues_.size();
        if (commStreams != CommStreams::kMessage) {
          const int line = lineOf(
              commStreams,
              {.peer = other.rank, .sends = isSend(action.kind), .forward = message.forward});
          queue = lines.try_emplace({rank, line}, queue).first->second;
        }
        if (queue == queues_.size()) queues_.emplace_back();
      }
      add(queue, {rank, cell});
    }
  }
}

void PlanQueues::add(std::size_t queue, Position position) {
  places_[static_cast<std::size_t>(position.rank)][static_cast<std::size_t>(position.cell)] = {
      static_cast<int>(queue), static_cast<int>(queues_[queue].size())};
  queues_[queue].push_back(position);
}

}  // namespace pipetrace
