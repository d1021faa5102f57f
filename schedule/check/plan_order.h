#pragma once

#include <cstddef>
#include <vector>

#include "schedule/check/plan_index.h"
#include "schedule/check/wait_rules.h"
#include "schedule/comm_streams.h"

namespace pipetrace {

/// The actions of a plan in queues: each is done after the one before it in its queue. Without
/// lines (CommStreams::kAsReached) each rank is a queue. With lines the first queues are those of
/// the ranks' compute actions, and others, the lines, hold the sends and receives.
class PlanQueues {
 public:
  using Position = PlanIndex::Position;
  struct Place {
    int queue = 0;
    int index = 0;
  };

  /// `plan` must outlive it; `index` is its own.
  PlanQueues(const Plan& plan, const PlanIndex& index, CommStreams commStreams);

  int count() const { return static_cast<int>(hasLines() ? queues_.size() : plan_.ranks.size()); }
  int size(int queue) const {
    const auto q = static_cast<std::size_t>(queue);
    return static_cast<int>(hasLines() ? queues_[q].size() : plan_.ranks[q].size());
  }
  Position at(Place place) const {
    if (!hasLines()) return {place.queue, place.index};
    return queues_[static_cast<std::size_t>(place.queue)][static_cast<std::size_t>(place.index)];
  }
  Place placeOf(Position position) const {
    if (!hasLines()) return {position.rank, position.cell};
    return places_[static_cast<std::size_t>(position.rank)]
                  [static_cast<std::size_t>(position.cell)];
  }

 private:
  bool hasLines() const { return !queues_.empty(); }
  void add(std::size_t queue, Position position);

  const Plan& plan_;
  std::vector<std::vector<Position>> queues_;
  std::vector<std::vector<Place>> places_;  // by rank and cell
};

/// An order in which all actions of a plan can run one by one. Each comes after the actions it
/// waits for and after the action before it in its queue.
struct PlanOrder {
  std::vector<PlanIndex::Position> order;
  /// done[q] = the number of actions of queue q in `order`. If the queue has more, it is stuck on
  /// the next one.
  std::vector<int> done;
  bool complete = false;
};

/// The plan of both has no problems. Linear in the number of actions.
PlanOrder planOrder(const PlanQueues& queues, const WaitRules& rules);
/// With unbounded buffers and the plan's credits. `index` must be that of `plan`, without problems.
PlanOrder planOrder(const Plan& plan, const PlanIndex& index,
                    CommStreams commStreams = CommStreams::kAsReached);

}  // namespace pipetrace
