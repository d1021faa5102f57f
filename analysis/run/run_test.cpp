#include "analysis/run/run.h"

#include <gmock/gmock.h>

#include <array>
#include <set>
#include <thread>

#include "analysis/causes/explanation.h"
#include "analysis/diff/measured_run.h"
#include "analysis/testing/faulty_run.h"
#include "analysis/testing/run_of_timeline.h"
#include "analysis/what_if/advice.h"
#include "analysis/what_if/what_if.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

constexpr int kParts = 6;

Timeline someRun() {
  const Plan plan = buildSchedule("1F1B", 4, 8);
  return test::completedRun(plan, test::costsOf(plan, 1));
}

TEST(Run, AReportAdviceAWhatIfAndAComparisonShareItsParts) {
  const pipetrace::Run run(someRun());
  EXPECT_EQ(run.partsMade(), 0);
  const Explanation explanation(run, {});
  EXPECT_EQ(run.partsMade(), kParts);
  adviceOn(run, {});
  whatIf(run, {});
  measureRun(run, {});
  EXPECT_EQ(run.partsMade(), kParts);
  EXPECT_EQ(&explanation.bubbles, &run.bubbles());
  EXPECT_EQ(explanation.graph, &run.graph());
}

TEST(Run, SeveralThreadsThatAskAtOnceGetOnePart) {
  const pipetrace::Run run(someRun(), 2);
  std::array<const void*, 8> parts{};
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    threads.emplace_back([&, i] {
      if (i % 2 == 0) {
        parts[i] = &run.bubbles();
      } else {
        run.schedule();
        parts[i] = &run.bubbles();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(std::set<const void*>(parts.begin(), parts.end()).size(), 1U);
  EXPECT_EQ(run.partsMade(), kParts);
}

TEST(Run, OnceAStopIsRequestedNoPartIsMadeAndThoseThatAreThereStay) {
  pipetrace::Run run(someRun());
  std::stop_source stop;
  run.endWhen(stop.get_token());
  const std::size_t jobs = run.graph().jobCount();
  stop.request_stop();
  EXPECT_THROW(run.bubbles(), Error);
  EXPECT_THROW(Explanation(run, {}), Error);
  EXPECT_EQ(run.graph().jobCount(), jobs);
  run.endWhen({});
  EXPECT_FALSE(run.bubbles().byRank.empty()) << "an attempt that was stopped leaves nothing behind";
}

TEST(Run, APartThatWasLetGoIsMadeAgain) {
  pipetrace::Run run(someRun());
  const std::vector<ClassTimes> times = run.bubbles().times;
  const int made = run.partsMade();
  run.letGo();
  EXPECT_EQ(run.bubbles().times, times);
  EXPECT_EQ(run.partsMade(), 2 * made);
}

TEST(Run, ItsPartsStayWhereTheyAreWhenItIsMoved) {
  pipetrace::Run run(someRun());
  const Event* const job = run.graph().node(0).event;
  const JobGraph* const graph = &run.graph();
  const pipetrace::Run moved = std::move(run);
  EXPECT_EQ(&moved.graph(), graph);
  EXPECT_EQ(moved.timeline().findTrack(0, kComputeLane)->events.data(), job);
}

TEST(Run, JoinedBubblesAreThoseOfAReadyRun) {
  pipetrace::Run run(someRun());
  const Event* const job = run.graph().node(0).event;
  run.join(run.bubbleLanes());
  EXPECT_EQ(run.graph().node(0).event, job);
  const ReadyRun ready = asRun(someRun()).ready(BubbleChoice::kFound);
  ASSERT_EQ(run.timeline().tracks.size(), ready.timeline.tracks.size());
  for (std::size_t i = 0; i < ready.timeline.tracks.size(); ++i) {
    const auto timesOf = [&](const Timeline& timeline) {
      std::vector<Timeline::Span> times;
      for (const Event& event : timeline.tracks[i].events)
        times.push_back({event.begin, event.end});
      return times;
    };
    const auto joined = timesOf(run.timeline());
    const auto given = timesOf(ready.timeline);
    ASSERT_EQ(joined.size(), given.size());
    for (std::size_t e = 0; e < given.size(); ++e) {
      EXPECT_EQ(joined[e].begin, given[e].begin);
      EXPECT_EQ(joined[e].end, given[e].end);
    }
  }
  EXPECT_EQ(ready.summary.steps.size(), run.summary().steps.size());
}

}  // namespace
}  // namespace pipetrace
