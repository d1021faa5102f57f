#include "analysis/sums_beside_jobs.h"

#include <gtest/gtest.h>

#include "analysis/testing/meetings_by_hand.h"

namespace pipetrace {
namespace {

/// Backward passes of two ranks, each with a kernel until 50 and a reduce-scatter of gradients
/// until 80, as a reader makes them that sees one rank: rank 0 waits for its next message after
/// that, so its jobs last until 80; rank 1 goes on at 50.
class Backwards : public MeetingsByHand {
 public:
  explicit Backwards(bool rankOneGoesOn) {
    for (const int rank : {0, 1}) {
      const bool goesOn = rank == 1 && rankOneGoesOn;
      for (int n = 0; n < 4; ++n) {
        const Nanoseconds begin = (goesOn ? 50 : 100) * n;
        Event& made = job(rank, begin, begin + (goesOn ? 50 : 80), n, 0, JobKind::kBackward);
        StringTable& strings = timeline.strings;
        const Argument arguments[] = {
            Argument::ofInteger(strings.intern(device_arguments::kKernels), 1),
            Argument::ofInteger(strings.intern(device_arguments::kCommInside), goesOn ? 0 : 30)};
        timeline.setArguments(made, arguments);
        kernel(rank, begin, begin + 50);
        meet(rank, begin + 50, begin + 80,
             {.use = "data-parallel", .kind = JobKind::kReduceScatter});
      }
    }
    timeline.sort();
    leaveOutSumsBesideJobs(timeline, 1);
  }

  const Event& first(int rank) { return timeline.track(rank, kComputeLane).events.front(); }
};

TEST(SumsBesideJobs, AreNoPartOfThemWhereOtherRanksWorkBesideThem) {
  Backwards made(true);
  EXPECT_EQ(made.first(0).duration(), 50);
  EXPECT_EQ(made.first(1).duration(), 50);
  const auto arguments = made.timeline.argumentsOf(made.first(0));
  EXPECT_EQ(arguments.back().integer, 0) << "no collective runs in the rest of the job";
}

TEST(SumsBesideJobs, ThatNoRankWorksBesideHoldUpTheirJobs) {
  Backwards made(false);
  EXPECT_EQ(made.first(0).duration(), 80);
  EXPECT_EQ(made.first(1).duration(), 80);
  EXPECT_EQ(made.timeline.argumentsOf(made.first(0)).back().integer, 30);
}

}  // namespace
}  // namespace pipetrace
