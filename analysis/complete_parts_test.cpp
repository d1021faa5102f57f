// Runs that are completed although they have several parts, or logs that were started again.
#include <gmock/gmock.h>

#include "analysis/testing/completed_steps.h"
#include "analysis/testing/hand_made_timeline.h"

namespace pipetrace {
namespace {

using enum JobKind;
using test::complete;
using test::stepsOf;
using testing::ElementsAre;

TEST(CompleteParts, JobsOfALaterPartGetNoStepOfAnEarlierOne) {
  HandMadeTimeline made;
  made.add(0, kForward, 0, 1, 4);
  made.add(0, kBackward, 2, 3);
  made.add(0, kBackward, 1000, 1001);  // before the first job of the part that has a step
  made.add(0, kForward, 1002, 1003, 9);
  made.add(0, kAllReduce, 4, 5, -1, 0, "comm");
  made.add(0, kAllReduce, 999, 1000, -1, 0, "comm");
  made.timeline.ranks[0].partBegins = {999};
  complete(made.timeline);
  EXPECT_THAT(stepsOf(made.timeline, 0), ElementsAre(4, 4, 9, 9));
  EXPECT_THAT(stepsOf(made.timeline, 0, "comm"), ElementsAre(4, 9));
}

TEST(CompleteParts, APartWithoutJobsGivesItsEventsNoStepOfALaterOne) {
  HandMadeTimeline made;
  made.add(0, kForward, 0, 1, 4);
  made.add(0, kForward, 2000, 2001, 9);
  made.add(0, kAllReduce, 1000, 1001, -1, 0, "comm");
  made.timeline.ranks[0].partBegins = {999, 1999};
  complete(made.timeline);
  EXPECT_THAT(stepsOf(made.timeline, 0, "comm"), ElementsAre(-1));
}

TEST(CompleteParts, StepsThatAreCutCountOnInALaterPartWithOneNumberForAllRanks) {
  HandMadeTimeline made;
  for (int rank = 0; rank < 2; ++rank) {
    for (Nanoseconds now = 0; now < (rank == 0 ? 6 : 4); ++now) {
      made.add(rank, now % 2 == 0 ? kForward : kBackward, now, now + 1);
    }
    made.add(rank, kBackward, 1000, 1001);
    made.add(rank, kForward, 1001, 1002);
    made.timeline.ranks[rank].partBegins = {1000};
  }
  complete(made.timeline);
  EXPECT_THAT(stepsOf(made.timeline, 0), ElementsAre(0, 0, 1, 1, 2, 2, 3, 3));
  EXPECT_THAT(stepsOf(made.timeline, 1), ElementsAre(0, 0, 1, 1, 3, 3));
}

}  // namespace
}  // namespace pipetrace
