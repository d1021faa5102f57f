// Bubbles that are classified a step at a time, with all let go that paths have kept.
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "analysis/run/bubbles/rank_bubbles.h"
#include "analysis/testing/faulty_run.h"
#include "analysis/testing/run_of_timeline.h"

namespace pipetrace {
namespace {

using test::completedRun;
using test::costsOf;

bool areSameBubbles(const Bubble& a, const Bubble& b) {
  return a.begin == b.begin && a.end == b.end && a.cause == b.cause && a.culprit == b.culprit &&
         a.step == b.step && a.bubbleClass == b.bubbleClass && a.isAtSender == b.isAtSender;
}

/// Slow stages, a slow link, a long job and a late one; without `lr` and optimizers paths go back
/// through all steps.
Timeline runInSteps(const char* schedule, bool endsSteps) {
  const Plan plan = buildSchedule(schedule, 4, 24);
  Costs costs = costsOf(plan, 0.5);
  if (!endsSteps) costs.lr = costs.optimizer = 0;
  test::scaleRank(costs, plan, 2, 1.2);
  costs.faults.links = {{0, 1, 3 * kNsPerMs}};
  costs.faults.jobs = {{{JobKind::kForward, 1, 4}, 1, 30 * kNsPerMs, 0},
                       {{JobKind::kForward, 3, 6}, 3, 0, 15 * kNsPerMs}};
  return completedRun(plan, costs, 6);
}

TEST(BlocksOfSteps, HaveTheSameBubblesAsAllStepsAtOnce) {
  for (const bool endsSteps : {true, false}) {
    for (const char* schedule : {"1F1B", "ZB-H1", "FThenB", "PipeDream"}) {
      const Timeline run = runInSteps(schedule, endsSteps);
      const JobGraph graph(run, topologyOf(run));
      const RunBasis basis(graph, summarize(run));
      const PipelineBasis& pipeline = basis.pipelines().front();
      const Bubbles atOnce = classifyBubbles(basis, 2);
      std::size_t count = 0;
      for (std::uint32_t r = 0; r < graph.ranks().size(); ++r) {
        RankBubbles rank(basis, pipeline, r);
        for (std::size_t window = 1; window <= pipeline.windows.size(); ++window) {
          rank.classifyUpTo(window);
          basis.paths().letGo();
          if (window % 2 == 0) basis.paths().letAllGo();
        }
        EXPECT_EQ(rank.times(), atOnce.times[r]);
        const std::vector<Bubble> bubbles = rank.take();
        ASSERT_EQ(bubbles.size(), atOnce.byRank[r].size()) << schedule;
        for (std::size_t i = 0; i < bubbles.size(); ++i) {
          ASSERT_TRUE(areSameBubbles(bubbles[i], atOnce.byRank[r][i]))
              << schedule << " " << r << " " << i;
        }
        count += bubbles.size();
      }
      EXPECT_GT(count, 20U) << schedule;
    }
  }
}

/// Their bubbles as events are the same, whether the bubbles are kept or not.
TEST(BlocksOfSteps, GiveTheirBubblesAwayAsTheSameEvents) {
  const Timeline run = runInSteps("1F1B", true);
  const JobGraph graph(run, topologyOf(run));
  const RunBasis basis(graph, summarize(run));
  Bubbles bubbles = classifyBubbles(basis);
  // So many that their memory goes before the last of them is an event.
  std::vector<Bubble>& many = bubbles.byRank[1];
  const std::vector<Bubble> some = many;
  while (many.size() < 150'000) many.insert(many.end(), some.begin(), some.end());
  const Bubbles& keptBubbles = bubbles;
  const BubbleLanes kept = bubbleLanes(run, graph, keptBubbles);
  const BubbleLanes given = bubbleLanes(run, graph, std::move(bubbles), 2);
  EXPECT_EQ(kept.culprits, given.culprits);
  ASSERT_EQ(kept.tracks.size(), given.tracks.size());
  for (std::size_t t = 0; t < kept.tracks.size(); ++t) {
    EXPECT_EQ(kept.tracks[t].rank, given.tracks[t].rank);
    const std::vector<Event>& expected = kept.tracks[t].events;
    const std::vector<Event>& events = given.tracks[t].events;
    ASSERT_EQ(events.size(), expected.size());
    for (std::size_t i = 0; i < events.size(); ++i) {
      EXPECT_EQ(events[i].begin, expected[i].begin);
      EXPECT_EQ(events[i].end, expected[i].end);
      EXPECT_EQ(events[i].bubbleClass, expected[i].bubbleClass);
      EXPECT_EQ(events[i].peer, expected[i].peer);
      EXPECT_EQ(events[i].firstArgument, expected[i].firstArgument);
    }
  }
}

}  // namespace
}  // namespace pipetrace
