#include "chart/search/parse_query.h"

#include <gmock/gmock.h>

#include "chart/search/job_search.h"
#include "chart/testing/timelines.h"

namespace pipetrace {
namespace {

TEST(ExactQueryTest, FindsEachEventOfARunAndNoOther) {
  Timeline timeline = makeTestTimeline({.ranks = 3, .microBatches = 4, .steps = 2});
  // Two jobs that only their time tells apart, and one without any number.
  Track& track = timeline.track(1, "side lane");
  for (const Nanoseconds begin : {0, 5, 11}) {
    Event& event = track.events.emplace_back();
    event.begin = kTestEpoch + begin * kNsPerMs;
    event.end = event.begin + 3 * kNsPerMs + 1;
    event.kind = JobKind::kOther;
    event.name = timeline.strings.intern("say \"hi\"");
  }
  timeline.sort();
  const ChartModel model(timeline);
  for (const Track& each : timeline.tracks) {
    for (const Event& event : each.events) {
      const std::string query = exactQuery(timeline, each.rank, each.lane, event);
      JobSearch search(model, parseQuery(query));
      while (!search.advance(1000)) {
      }
      ASSERT_EQ(search.matches().size(), 1U) << query;
      const auto place = search.matches().firstFrom({kNsMin, 0, 0});
      EXPECT_EQ(search.matches().hitOf(*place).event, &event) << query;
    }
  }
}

TEST(ExactQueryTest, IsNoLongerThanItMustBe) {
  const Timeline timeline = makeTestTimeline({.ranks = 3, .microBatches = 4, .steps = 2});
  const Track& compute = *timeline.findTrack(2, kComputeLane);
  for (const Event& job : compute.events) {
    if (job.kind != JobKind::kForward || job.step != 1 || job.microBatch != 3) continue;
    EXPECT_EQ(exactQuery(timeline, 2, kComputeLane, job), "rank:2 step:1 kind:forward mb:3");
  }
}

TEST(ExactQueryTest, ABubbleIsFoundByATimeOfFewDigits) {
  Timeline timeline;
  Event job;
  job.begin = 1'000'000'123;
  job.end = job.begin + 9 * kNsPerMs;
  job.kind = JobKind::kForward;
  timeline.track(4, kComputeLane).events.push_back(job);
  Event bubble;
  bubble.kind = JobKind::kBubble;
  bubble.bubbleClass = BubbleClass::kImbalance;
  bubble.step = 6;
  bubble.begin = job.begin + 12'345'678;
  bubble.end = job.begin + 17'654'321;
  EXPECT_EQ(exactQuery(timeline, 4, kBubbleLane, bubble), "rank:4 step:6 class:imbalance at:14ms");
  bubble.end = bubble.begin + 3;
  EXPECT_EQ(exactQuery(timeline, 4, kBubbleLane, bubble),
            "rank:4 step:6 class:imbalance at:12.345679ms");
}

}  // namespace
}  // namespace pipetrace
