#pragma once

#include <vector>

#include "runtime/program/rank_program.h"
#include "schedule/plan.h"

namespace pipetrace {

/// A reduction of a plan: the turn-th REDUCE_GRAD of a stage on each of its ranks.
struct PlannedReduction {
  int stage = 0;
  int turn = 0;

  bool operator==(const PlannedReduction&) const = default;
};

/// The reductions of stages on several ranks, in one order for all ranks: that of each row where
/// rows agree. Those of a stage that stand one right behind the other are a group. `plan`: as
/// ranks run it (asRanksRun()). Throws Error that names two ranks of a stage which have different
/// reductions of it.
std::vector<std::vector<PlannedReduction>> reductionOrder(const Plan& plan);

/// The rounds of a rank's reductions in that order: the parts of all of a group, then their sums.
/// Two ranks that have them in one order have their messages to each other in one, too, and no
/// ranks wait for each other in a circle. The sums of a group come before the parts of the next,
/// so that they need not wait for a later backward.
std::vector<RankProgram::Exchange> exchangesOf(const Plan& plan, const RankProgram& program);

/// The buckets of a stage's reductions on a rank, by turn: numbers from 0 without gaps, in the
/// order of those in the plan's cells.
std::vector<int> bucketsOf(const std::vector<Action>& row, int stage);

/// The parts into which a stage's last backward is cut on a rank (Action::parts); 1: it is whole.
int partsOf(const std::vector<Action>& row, int stage);

}  // namespace pipetrace
