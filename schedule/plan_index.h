#pragma once

#include <vector>

#include "schedule/problem.h"
#include "schedule/schedule.h"

namespace pipetrace {

/// Where a plan does what: the inputs of each action, found in constant time.
class PlanIndex {
 public:
  struct Position {
    int rank = -1;
    int cell = -1;
    bool exists() const { return rank >= 0; }
    bool operator==(const Position&) const = default;
  };

  /// `schedule` must outlive the index.
  explicit PlanIndex(const Schedule& schedule);

  /// Work that is missing, doubled or out of range.
  const std::vector<Problem>& problems() const { return problems_; }

  const Action& at(Position position) const {
    return schedule_
        .ranks[static_cast<std::size_t>(position.rank)][static_cast<std::size_t>(position.cell)];
  }

  /// Who makes what an action needs, apart from the action before it on its rank: at most three,
  /// for a fused pair. Inputs that the plan lacks are left out. Transfers that stand in the plan
  /// have none: the data edges between compute actions stand for them.
  struct Inputs {
    Position positions[3];
    int count = 0;
    void add(Position position);
    const Position* begin() const { return positions; }
    const Position* end() const { return positions + count; }
  };
  Inputs inputsOf(const Action& action) const;

 private:
  enum Pass { kForwardPass, kBackwardPass, kWeightPass, kPassCount };

  std::size_t slotOf(Pass pass, int stage, int microBatch) const;
  Position find(Pass pass, int stage, int microBatch) const;
  bool inRange(int stage, int microBatch) const;
  void add(Pass pass, int stage, int microBatch, Position position);
  void addAction(const Action& action, Position position);
  void findMissing();

  const Schedule& schedule_;
  std::vector<Position> table_;  // by stage, micro-batch and pass
  std::vector<Problem> problems_;
};

}  // namespace pipetrace
