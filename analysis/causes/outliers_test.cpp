// Jobs and messages that take longer than they usually do, in some steps.
#include "analysis/causes/culprits.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "analysis/testing/explained_run.h"
#include "analysis/testing/faulty_run.h"
#include "analysis/testing/sentences_of.h"

namespace pipetrace {
namespace {

using test::completedRun;
using test::costsOf;
using test::sentencesOf;
using testing::Contains;
using testing::StartsWith;

TEST(Outliers, AJobThatIsLongInSeveralStepsSaysInHowManyAndHowLong) {
  const Plan plan = buildSchedule("1F1B", {4, 8});
  Costs costs = costsOf(plan, 0.1);
  costs.faults.jobs = {{{JobKind::kBackward, 1, 3}, 1, 20 * kNsPerMs, 0},
                       {{JobKind::kBackward, 1, 3}, 3, 30 * kNsPerMs, 0}};
  EXPECT_THAT(sentencesOf(completedRun(plan, costs, 5)),
              Contains(StartsWith("1B3 of rank 1 takes longer than 20.00 ms, the median of its "
                                  "stage, in 2 of 5 steps, up to 50.00 ms in step 3: waiting for "
                                  "it costs ")));
}

/// The last message of a step from rank 1 to rank 2 takes 4 s, so all that comes later is 4 s late.
TEST(Outliers, OneMessageOfSecondsIsNamedApartFromTheOthersOfItsLink) {
  const Plan plan = buildSchedule("1F1B", {4, 8});
  Costs costs = costsOf(plan, 0.5);
  costs.faults.links = {{1, 2, 2 * kNsPerMs}};
  Timeline timeline = completedRun(plan, costs, 5);
  Nanoseconds cut = 0;
  for (const Track& track : timeline.tracks) {
    for (const Event& event : track.events) {
      const bool isCut = track.rank == 2 && event.kind == JobKind::kRecvForward &&
                         event.step == 3 && event.microBatch == 5;
      if (isCut) cut = event.end;
    }
  }
  ASSERT_GT(cut, 0);
  for (Track& track : timeline.tracks) {
    for (Event& event : track.events) {
      const Nanoseconds by = 4 * kNsPerSecond;
      const bool isCut = event.step == 3 && event.microBatch == 5 &&
                         ((track.rank == 2 && event.kind == JobKind::kRecvForward) ||
                          (track.rank == 1 && event.kind == JobKind::kSendForward));
      if (isCut) {
        event.end += by;
      } else if (event.begin >= cut) {
        event.begin += by;
        event.end += by;
      }
    }
  }
  timeline.sort();
  const std::vector<std::string> sentences = sentencesOf(timeline);
  EXPECT_THAT(sentences[0],
              StartsWith("a message from rank 1 to rank 2 takes 4.002 s in step 3 (1F5; median of "
                         "the link 2.000 ms)"));
  EXPECT_THAT(sentences, Contains(StartsWith("messages between ranks 1 and 2 take 2.000 ms "
                                             "(median; other links 500.0 us): transfers cost ")));
  const auto run = explainRun(timeline, {});
  int ofCut = 0;
  for (const std::vector<Bubble>& ofRank : run.bubbles.byRank) {
    for (const Bubble& bubble : ofRank) {
      if (bubble.bubbleClass != BubbleClass::kTransfer) continue;
      const CulpritGroup* const group = groupOf(*run.graph, run.culprits, bubble);
      const JobGraph::Node& cause = run.graph->node(bubble.cause);
      const bool isCut = cause.end - cause.begin > kNsPerSecond;
      ASSERT_NE(group, nullptr);
      EXPECT_EQ(group->outliers.empty(), !isCut) << "a click on a bubble finds its finding";
      if (isCut) ++ofCut;
    }
  }
  EXPECT_GT(ofCut, 0);
}

}  // namespace
}  // namespace pipetrace
