#pragma once

#include <cstddef>
#include <vector>

#include "schedule/check/plan_index.h"
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

}  // namespace pipetrace
