#include "schedule/check/plan_order.h"

#include <map>
#include <utility>

namespace pipetrace {

namespace {

/// Runs each queue as far as it can, and again when an action that it waits for has been done.
class Walk {
 public:
  Walk(const PlanQueues& queues, const WaitRules& rules) : queues_(queues), rules_(rules) {
    const int count = queues.count();
    result_.done.assign(static_cast<std::size_t>(count), 0);
    nextWaiter_.assign(static_cast<std::size_t>(count), kNobody);
    for (int q = count; q-- > 0;) ready_.push_back(q);
    for (int q = 0; q < count; ++q) {
      firstPlace_.push_back(total_);
      total_ += static_cast<std::size_t>(queues.size(q));
    }
    firstWaiter_.assign(total_, kNobody);
    result_.order.reserve(total_);
  }

  PlanOrder run() {
    while (!ready_.empty()) {
      const int queue = ready_.back();
      ready_.pop_back();
      advance(queue);
    }
    result_.complete = result_.order.size() == total_;
    return std::move(result_);
  }

 private:
  static constexpr int kNobody = -1;

  void advance(int queue) {
    const int size = queues_.size(queue);
    int& done = result_.done[static_cast<std::size_t>(queue)];
    while (done < size) {
      const PlanIndex::Position position = queues_.at({queue, done});
      const WaitRules::Wait open = rules_.firstOpen(position, [&](const WaitRules::Wait& wait) {
        const PlanQueues::Place needed = queues_.placeOf(wait.position);
        return result_.done[static_cast<std::size_t>(needed.queue)] < wait.doneNeeded(needed.index);
      });
      if (open.position.exists()) {
        const PlanQueues::Place needed = queues_.placeOf(open.position);
        int& first = waitersOf(needed.queue, open.doneNeeded(needed.index) - 1);
        nextWaiter_[static_cast<std::size_t>(queue)] = std::exchange(first, queue);
        return;
      }
      result_.order.push_back(position);
      wakeWaitersOf(queue, done++);
    }
  }

  void wakeWaitersOf(int queue, int index) {
    int waiter = std::exchange(waitersOf(queue, index), kNobody);
    while (waiter != kNobody) {
      ready_.push_back(waiter);
      waiter = std::exchange(nextWaiter_[static_cast<std::size_t>(waiter)], kNobody);
    }
  }

  int& waitersOf(int queue, int index) {
    return firstWaiter_[firstPlace_[static_cast<std::size_t>(queue)] +
                        static_cast<std::size_t>(index)];
  }

  const PlanQueues& queues_;
  const WaitRules& rules_;
  PlanOrder result_;
  std::vector<int> ready_;
  // A queue waits for one action at a time: lists of queues, threaded through two arrays.
  std::vector<int> firstWaiter_;  // by action
  std::vector<int> nextWaiter_;   // by queue
  std::vector<std::size_t> firstPlace_;
  std::size_t total_ = 0;
};

}  // namespace

PlanOrder planOrder(const PlanQueues& queues, const WaitRules& rules) {
  return Walk(queues, rules).run();
}

PlanOrder planOrder(const Plan& plan, const PlanIndex& index, CommStreams commStreams) {
  const CreditGivers credits(plan, index);
  return planOrder(PlanQueues(plan, index, commStreams),
                   WaitRules(plan, index, {.commStreams = commStreams}, &credits));
}

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
