#include "chart/search/job_search.h"

#include <gmock/gmock.h>

#include <functional>
#include <random>

#include "chart/search/parse_query.h"
#include "chart/testing/timelines.h"

namespace pipetrace {
namespace {

using Allows = std::function<bool(const Track&, const Event&)>;

struct Case {
  std::string query;
  Allows allows;
};

/// Transfers that overlap, so that they need sub-lanes, and jobs with names.
Timeline makeRun() {
  Timeline timeline = makeTestTimeline({.ranks = 5, .microBatches = 6, .steps = 4});
  Track& lane = timeline.track(2, "gloo: 3");
  for (int i = 0; i < 40; ++i) {
    Event& event = lane.events.emplace_back();
    event.begin = kTestEpoch + i * kNsPerMs;
    event.end = event.begin + (i % 7) * kNsPerMs;
    event.kind = JobKind::kAllReduce;
    event.step = i / 10;
    event.phase = static_cast<Phase>(i % 3);
    event.name = timeline.strings.intern(i % 2 == 0 ? "Gradients Sum" : "barrier");
  }
  timeline.sort();
  return timeline;
}

std::vector<const Event*> searchedIn(const ChartModel& model, const std::string& query,
                                     std::size_t slice = 1'000'000) {
  JobSearch search(model, parseQuery(query));
  while (!search.advance(slice)) {
  }
  std::vector<const Event*> found;
  auto place = search.matches().firstFrom({kNsMin, 0, 0});
  while (place) {
    found.push_back(search.matches().hitOf(*place).event);
    ++place->position;
    place = search.matches().firstFrom(*place);
  }
  return found;
}

std::vector<const Event*> bruteForce(const Timeline& timeline, const Allows& allows) {
  std::vector<const Event*> found;
  for (const Track& track : timeline.tracks) {
    for (const Event& event : track.events) {
      if (allows(track, event)) found.push_back(&event);
    }
  }
  return found;
}

const std::vector<Case>& cases() {
  static const std::vector<Case> list = {
      {"", [](const Track&, const Event&) { return true; }},
      {"forward",
       [](const Track&, const Event& e) {
         return e.kind == JobKind::kForward || e.kind == JobKind::kSendForward ||
                e.kind == JobKind::kRecvForward;
       }},
      {"phase:evaluate", [](const Track&, const Event& e) { return e.phase == Phase::kEvaluate; }},
      {"kind:forward step:1..2 rank:3",
       [](const Track& t, const Event& e) {
         return t.rank == 3 && e.kind == JobKind::kForward && (e.step == 1 || e.step == 2);
       }},
      {"mb:2 lane:send",
       [](const Track& t, const Event& e) { return e.microBatch == 2 && t.lane == "send"; }},
      {"longer:15ms", [](const Track&, const Event& e) { return e.end - e.begin >= 15'000'000; }},
      {"shorter:1ms kind:send_backward stage:0..1",
       [](const Track&, const Event& e) {
         return e.end - e.begin <= 1'000'000 && e.kind == JobKind::kSendBackward &&
                (e.stage == 0 || e.stage == 1);
       }},
      {"3B1",
       [](const Track&, const Event& e) {
         return e.kind == JobKind::kBackward && e.stage == 3 && e.microBatch == 1;
       }},
      {"gradients",
       [](const Track& t, const Event& e) {
         const bool isNamed = t.lane == "gloo: 3";
         return isNamed && (e.begin - kTestEpoch) / 1'000'000 % 2 == 0;
       }},
      {"at:27.5ms",
       [](const Track&, const Event& e) {
         const Nanoseconds time = kTestEpoch + 27'500'000;
         return e.begin <= time && time < e.end;
       }},
      {"rank:0,4 kind:bubble",
       [](const Track& t, const Event&) {
         return t.lane == "bubbles" && (t.rank == 0 || t.rank == 4);
       }},
      {"nothing is called this", [](const Track&, const Event&) { return false; }},
  };
  return list;
}

TEST(JobSearchTest, FindsWhatALookAtEveryEventFinds) {
  const Timeline timeline = makeRun();
  const ChartModel model(timeline);
  ASSERT_EQ(model.span().begin, kTestEpoch);
  for (const Case& each : cases()) {
    const auto expected = bruteForce(timeline, each.allows);
    EXPECT_THAT(searchedIn(model, each.query), testing::UnorderedElementsAreArray(expected))
        << each.query;
    EXPECT_EQ(expected.empty(), each.query.starts_with("nothing")) << "the test tests something";
  }
}

TEST(JobSearchTest, MatchesComeInTheOrderOfTime) {
  const Timeline timeline = makeRun();
  const ChartModel model(timeline);
  const auto found = searchedIn(model, "");
  ASSERT_EQ(found.size(), timeline.eventCount());
  EXPECT_TRUE(std::is_sorted(found.begin(), found.end(),
                             [](const Event* a, const Event* b) { return a->begin < b->begin; }));
}

TEST(JobSearchTest, SlicesFindTheSame) {
  const Timeline timeline = makeRun();
  const ChartModel model(timeline);
  for (const std::size_t slice : {1U, 7U, 100U}) {
    EXPECT_EQ(searchedIn(model, "forward mb:1..3", slice), searchedIn(model, "forward mb:1..3"));
  }
}

TEST(JobSearchTest, ASearchHasMatchesBeforeItIsDone) {
  const Timeline timeline = makeRun();
  const ChartModel model(timeline);
  JobSearch search(model, parseQuery("kind:forward"));
  EXPECT_FALSE(search.advance(50));
  EXPECT_GT(search.matches().size(), 0U);
  EXPECT_LT(search.matches().size(), searchedIn(model, "kind:forward").size());
}

TEST(JobSearchTest, NeighboursAndCountsAreThoseOfASortedList) {
  const Timeline timeline = makeRun();
  const ChartModel model(timeline);
  JobSearch search(model, parseQuery("lane:send,gloo"));
  while (!search.advance(100)) {
  }
  const MatchList& matches = search.matches();
  std::vector<MatchPlace> sorted;
  for (const MatchList::Lane& lane : matches.lanes()) {
    for (const std::uint32_t i : lane.positions) {
      sorted.push_back({(*lane.index)[i].begin, lane.number, i});
    }
  }
  std::sort(sorted.begin(), sorted.end());
  ASSERT_EQ(sorted.size(), matches.size());
  ASSERT_GT(sorted.size(), 100U);
  std::mt19937 random(7);
  for (int i = 0; i < 500; ++i) {
    const MatchPlace& some = sorted[random() % sorted.size()];
    const MatchPlace place{some.begin + static_cast<Nanoseconds>(random() % 3) - 1, some.lane,
                           some.position};
    const auto next = std::lower_bound(sorted.begin(), sorted.end(), place);
    EXPECT_EQ(matches.countBefore(place), static_cast<std::size_t>(next - sorted.begin()));
    const auto found = matches.firstFrom(place);
    EXPECT_EQ(found.has_value(), next != sorted.end());
    if (found) {
      EXPECT_EQ(*found, *next);
    }
    const auto before = matches.lastBefore(place);
    EXPECT_EQ(before.has_value(), next != sorted.begin());
    if (before) {
      EXPECT_EQ(*before, *(next - 1));
    }
  }
}

TEST(JobSearchTest, OwnTimesAreComparedWithTheUsualOnesOfStageAndKind) {
  Timeline timeline = makeTestTimeline({.ranks = 3, .microBatches = 8, .steps = 2});
  const Event* slow = nullptr;
  const Event* slower = nullptr;
  for (Event& event : timeline.track(1, kComputeLane).events) {
    if (event.step != 1 || event.microBatch != 3 || !isCompute(event.kind)) continue;
    const bool isForward = event.kind == JobKind::kForward;
    event.end = event.begin + event.duration() * (isForward ? 12 : 30) / 10;
    (isForward ? slow : slower) = &event;
  }
  const ChartModel model(timeline);
  EXPECT_THAT(searchedIn(model, "own:1.1x.."), testing::UnorderedElementsAre(slow, slower));
  EXPECT_THAT(searchedIn(model, "own:1.1x..2x"), testing::ElementsAre(slow));
  EXPECT_THAT(searchedIn(model, "own:..0.9x"), testing::IsEmpty()) << "stages are alike";
  EXPECT_THAT(searchedIn(model, "own:1.1x.. kind:backward"), testing::ElementsAre(slower));
}

TEST(JobSearchTest, OwnTimesThatAreGivenTakeThePlaceOfDurations) {
  const Timeline timeline = makeTestTimeline({.ranks = 2, .microBatches = 8, .steps = 1});
  const ChartModel model(timeline);
  auto own = std::make_shared<JobOwnTimes>();
  const Track& track = *timeline.findTrack(1, kComputeLane);
  const Event* waiting = nullptr;
  for (const Event& event : track.events) {
    if (event.kind == JobKind::kForward && event.microBatch == 2) waiting = &event;
  }
  (*own)[waiting] = waiting->duration() / 2;
  JobSearch search(model, parseQuery("own:..0.6x"),
                   std::make_shared<const UsualTimes>(timeline, own));
  while (!search.advance(1'000'000)) {
  }
  ASSERT_EQ(search.matches().size(), 1U);
  EXPECT_EQ(search.matches().hitOf(*search.matches().firstFrom({kNsMin, 0, 0})).event, waiting);
}

}  // namespace
}  // namespace pipetrace
