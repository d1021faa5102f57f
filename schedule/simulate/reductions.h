#pragma once

#include <vector>

#include "schedule/check/plan_network.h"
#include "schedule/check/update_meetings.h"
#include "schedule/costs.h"
#include "schedule/plan.h"

namespace pipetrace {

/// Where the gradients of a stage are added up over its ranks. A REDUCE_GRAD begins when all its
/// ranks have come to it, and lasts StageCosts::reduction. Its ranks go on meanwhile; their step
/// ends when it has ended. Those of a stage follow each other.
///
/// The n-th REDUCE_GRAD of a stage on each rank belong together. Those that some rank lacks take no
/// time, and neither do those of a stage on one rank.
///
/// An asynchronous plan has one at each update of a stage on several ranks, also where its
/// REDUCE_GRAD is not written. The update waits for it. So one that takes no time holds up a rank,
/// too, until all have come.
///
/// The last one may be AGREE, of stage kAllStages: it begins when all ranks are done with all else,
/// and lasts Costs::scalarAllReduce. All ranks end their step with it.
struct Reduction {
  struct Member {
    int rank = 0;
    int cell = 0;             ///< of an update: that of its backward
    Nanoseconds arrived = 0;  ///< when its rank came to it
  };
  int stage = 0;                ///< or kAllStages
  std::vector<Member> members;  ///< by rank
  int before = -1;              ///< index of the one of the stage before it; −1: none
  Nanoseconds length = 0;
  Nanoseconds begin = 0;
  Nanoseconds end = 0;
};

/// Those of a plan with a flush, by stage, in order, without their times.
std::vector<Reduction> reductionsOf(const Plan& plan, const Costs& costs);
/// Those of an asynchronous plan, in the order of UpdateMeetings::all().
std::vector<Reduction> reductionsOf(const UpdateMeetings& updates, const Costs& costs);

/// Those of a plan with a flush, for its network.
std::vector<MeetingOfRanks> meetingsOf(const std::vector<Reduction>& reductions);

}  // namespace pipetrace
