#pragma once

#include <functional>
#include <string>
#include <vector>

#include "schedule/plan.h"

namespace pipetrace {

/// The row with a REDUCE_GRAD of each stage that `isReduced` after its last backward or weight
/// half, and after the sends right behind that. Stages that have one get no second. With several
/// `buckets` there is one for each, with its number. A last backward in parts (Action::part) is a
/// bucket a part instead: one REDUCE_GRAD stands behind each part, with the number of that.
std::vector<Action> withReductions(const std::vector<Action>& row,
                                   const std::function<bool(int stage)>& isReduced,
                                   int buckets = 1);

/// The plan with a REDUCE_GRAD on each rank of a stage that stands on several; or with as many as
/// there are buckets, or parts of its last backward. An asynchronous plan has one at each update of
/// such a stage, in place of those that it has. (One with problems stays as it is.) Throws Error
/// for buckets of such a plan.
Plan withReductions(Plan plan, int buckets = 1);

/// The plan with AGREE at the end of each rank's row, unless it has it. Throws as requireAgrees().
Plan withScalarAllReduce(Plan plan, const std::string& who = "an agreement of all ranks");
/// Throws Error where ranks have no time to agree: in a plan without a flush, and a forward-only
/// one. `who` asks for it: "--clip-grad-norm".
void requireAgrees(const Plan& plan, const std::string& who);

/// The plan as ranks run it: withReductions(), AGREE if it has it, and without all other
/// data-parallel actions, for which they have no work. Name, fingerprint and everything else stay.
Plan asRanksRun(Plan plan);

/// The plan without its data-parallel actions (isDataParallel()). Name, fingerprint and everything
/// else stay. Ranks run some of them: see asRanksRun().
Plan withoutDataParallel(Plan plan);
/// The same of the row of one rank.
std::vector<Action> withoutDataParallel(std::vector<Action> row);

}  // namespace pipetrace
