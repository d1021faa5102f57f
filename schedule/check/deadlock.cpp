#include "schedule/check/deadlock.h"

#include <algorithm>
#include <string>

namespace pipetrace {
namespace {

using Position = PlanIndex::Position;

class Cycle {
 public:
  Cycle(const Plan& plan, const PlanIndex& index, const WaitRules& rules, const PlanQueues& queues,
        const PlanOrder& order, bool ofComputeOnly)
      : plan_(plan),
        index_(index),
        rules_(rules),
        queues_(queues),
        order_(order),
        ofComputeOnly_(ofComputeOnly) {}

  /// Follows the waits from a stuck queue until a queue repeats.
  Problem find() const {
    std::vector<char> seen(order_.done.size(), 0);
    int queue = firstStuckQueue();
    while (seen[static_cast<std::size_t>(queue)]++ == 0) {
      queue = queues_.placeOf(waitsFor(stuckOn(queue)).position).queue;
    }

    const Position first = stuckOn(queue);
    std::string text = "deadlock: ";
    Position position = first;
    do {
      const WaitRules::Wait wait = waitsFor(position);
      const Position needed = wait.position;
      text += named(position) + (wait.isCredit ? " waits for a credit from " : " waits for ") +
              named(needed);
      position = stuckOn(queues_.placeOf(needed).queue);
      if (position != needed) text += ", which comes after " + toText(index_.at(position));
      text += "; ";
    } while (position != first);
    return {first.rank, cellOf(first), text + "that closes the cycle"};
  }

 private:
  int done(int queue) const { return order_.done[static_cast<std::size_t>(queue)]; }
  Position stuckOn(int queue) const { return queues_.at({queue, done(queue)}); }

  int firstStuckQueue() const {
    int queue = 0;
    while (done(queue) == queues_.size(queue)) ++queue;
    return queue;
  }

  WaitRules::Wait waitsFor(Position position) const {
    return rules_.firstOpen(position, [&](const WaitRules::Wait& wait) {
      const PlanQueues::Place needed = queues_.placeOf(wait.position);
      return done(needed.queue) < wait.doneNeeded(needed.index);
    });
  }

  int cellOf(Position position) const {
    if (!ofComputeOnly_) return position.cell;
    const auto& actions = plan_.ranks[static_cast<std::size_t>(position.rank)];
    const auto before = std::count_if(actions.begin(), actions.begin() + position.cell,
                                      [](const Action& a) { return !isTransfer(a.kind); });
    return static_cast<int>(before) - (isSend(index_.at(position).kind) ? 1 : 0);
  }

  std::string named(Position position) const {
    const Action& action = index_.at(position);
    const char* where = ", cell ";
    if (ofComputeOnly_ && isTransfer(action.kind)) {
      where = isSend(action.kind) ? ", after cell " : ", before cell ";
    }
    return toText(action) + " (rank " + std::to_string(position.rank) + where +
           std::to_string(cellOf(position)) + ")";
  }

  const Plan& plan_;
  const PlanIndex& index_;
  const WaitRules& rules_;
  const PlanQueues& queues_;
  const PlanOrder& order_;
  bool ofComputeOnly_;
};

}  // namespace

std::optional<Problem> findDeadlock(const Plan& plan, const PlanIndex& index,
                                    const WaitRules& rules, const PlanQueues& queues,
                                    bool ofComputeOnly) {
  const PlanOrder order = planOrder(queues, rules);
  if (order.complete) return {};
  return Cycle(plan, index, rules, queues, order, ofComputeOnly).find();
}

}  // namespace pipetrace
