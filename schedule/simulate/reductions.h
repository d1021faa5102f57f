#pragma once

#include <vector>

#include "schedule/check/update_meetings.h"
#include "schedule/costs.h"
#include "schedule/plan.h"

namespace pipetrace {

/// The reductions of a plan: where the gradients of a stage are added up over its ranks. A
/// REDUCE_GRAD begins when all its ranks have come to it, and lasts StageCosts::reduction. Its
/// ranks go on meanwhile; their step ends when it has ended. Those of a stage follow each other.
///
/// The n-th REDUCE_GRAD of a stage on each rank belong together. Those that some rank lacks take no
/// time, and neither do those of a stage on one rank.
///
/// An asynchronous plan has one at each update of a stage on several ranks, also where its
/// REDUCE_GRAD is not written. The update waits for it. So one that takes no time holds up a rank,
/// too, until all have come.
/// The last one may be AGREE, of stage kAllStages: it begins when all ranks are done with all else,
/// and lasts Costs::scalarAllReduce. All ranks end their step with it.
class Reductions {
 public:
  static constexpr int kNone = -1;

  struct Member {
    int rank = 0;
    int cell = 0;             ///< of an update: that of its backward
    Nanoseconds arrived = 0;  ///< in the last step, when its rank came to it
  };
  struct Reduction {
    int stage = 0;                ///< or kAllStages
    std::vector<Member> members;  ///< by rank
    int before = kNone;           ///< the one of the stage before it; of AGREE, in the last step:
                                  ///< the one with which its last member ended all else
    Nanoseconds begin = 0;        ///< in the last step
    Nanoseconds end = 0;
    int last = 0;  ///< the member that it waited for; before it ended later, if `begin` is its end
  };

  Reductions() = default;
  Reductions(const Plan& plan, const Costs& costs);
  /// Those of an asynchronous plan, in the order of UpdateMeetings::all().
  Reductions(const UpdateMeetings& updates, const Costs& costs);

  const std::vector<Reduction>& all() const { return all_; }
  /// The one that stands at a cell of a rank; kNone: nothing that takes time.
  int at(int rank, int cell) const;

  /// The rank has come to its REDUCE_GRAD, or its update.
  void arrive(int reduction, int rank, Nanoseconds time);
  /// All ranks have come to an update: gives its reduction its times. Returns its end.
  Nanoseconds runOfUpdate(int reduction);
  /// All ranks have: gives them their times. `free`: when each rank is done with all else; it
  /// becomes when it is done with these, too.
  void run(std::vector<Nanoseconds>& free);
  /// The one with which the rank ended the last step; kNone: it ended with something else.
  int lastOf(int rank) const;

 private:
  void addScalarAllReduce(const Plan& plan);
  void runScalarAllReduce(Reduction& own, std::vector<Nanoseconds>& free);

  std::vector<Nanoseconds> costs_;  // by stage
  Nanoseconds scalarAllReduce_ = 0;
  std::vector<Reduction> all_;            // by stage, in order
  std::vector<std::vector<int>> places_;  // by rank and cell; empty: the plan has none
  std::vector<int> last_;                 // by rank
};

}  // namespace pipetrace
