#include <gtest/gtest.h>

#include <random>
#include <sstream>

#include "analysis/present/run_report.h"
#include "analysis/present/summary_report.h"
#include "analysis/run_summary.h"
#include "analysis/testing/explained_run.h"
#include "analysis/testing/faulty_run.h"
#include "analysis/testing/hand_made_timeline.h"
#include "analysis/testing/run_of_timeline.h"

namespace pipetrace {
namespace {

/// Ranks of two pipelines with overlapping jobs of several steps on several lanes. Many fields are
/// left for completeTimeline() to fill in.
Timeline patchyTimeline(std::uint32_t seed) {
  using enum JobKind;
  constexpr JobKind kKinds[] = {kForward,   kBackward,    kBackwardWeight, kRecompute,
                                kOptimizer, kSendForward, kRecvBackward,   kLr};
  constexpr std::string_view kLanes[] = {kComputeLane, kSendLane, "second stream"};
  std::mt19937 random(seed);
  HandMadeTimeline made;
  for (int rank = 0; rank < 6; ++rank) {
    Nanoseconds now = random() % 50;
    for (int i = 0; i < 200; ++i) {
      const auto step = static_cast<std::int32_t>(i / 40 + random() % 2);
      Event& event = made.add(rank, kKinds[random() % std::size(kKinds)], now, now + random() % 30,
                              seed % 3 == 0 ? kNotGiven : step,
                              static_cast<std::int32_t>(random() % 4), kLanes[random() % 3]);
      event.peer = seed % 2 == 0 ? (rank + 2) % 6 : (rank + 1) % 6;
      event.job = random() % 4 == 0 ? kNotGiven : i;
      if (seed % 5 == 0) event.chunk = static_cast<std::int16_t>(random() % 2);
      if (random() % 3 == 0) event.stage = rank / 2;
      now += random() % 25;
    }
  }
  made.timeline.sort();
  return std::move(made.timeline);
}

/// All diagnostics, metrics and bubbles that the analysis makes of a timeline.
std::string analysed(Timeline timeline, int threads) {
  std::ostringstream text;
  Diagnostics diagnostics;
  completeTimeline(timeline, diagnostics, threads);
  for (const Diagnostic& diagnostic : diagnostics.list()) text << toText(diagnostic) << "\n";
  const RunSummary summary = summarize(timeline, threads);
  addBubbles(timeline, threads);
  text << jsonReport(timeline, summary, threads) << textReport(timeline, summary, threads);
  for (const Track& track : timeline.tracks) {
    text << track.rank << " " << track.lane << "\n";
    for (const Event& e : track.events) {
      text << e.begin << " " << e.end << " " << e.step << " " << e.stage << " " << e.chunk << " "
           << static_cast<int>(e.kind);
      for (const Argument& argument : timeline.argumentsOf(e)) {
        text << " " << timeline.strings[argument.text];  // culprits
      }
      text << "\n";
    }
  }
  return text.str();
}

TEST(Threads, MakeNoDifferenceToTheAnalysis) {
  for (std::uint32_t seed = 0; seed < 30; ++seed) {
    const Timeline timeline = patchyTimeline(seed);
    const std::string one = analysed(timeline, 1);
    ASSERT_NE(one.find("bubbles"), std::string::npos);
    ASSERT_EQ(analysed(timeline, 4), one) << seed;
    ASSERT_EQ(analysed(timeline, 0), one) << seed;
  }
}

/// All that the report has of one pipeline, whose steps several threads explain: slow stages and
/// links, a long job, and more stages than one pass of what-ifs runs.
TEST(Threads, MakeNoDifferenceToTheReportOfOnePipeline) {
  for (const int ranks : {4, 132}) {
    const Plan plan = buildSchedule("1F1B", {.ranks = ranks, .microBatches = ranks == 4 ? 24 : 3});
    Costs costs = test::costsOf(plan, 0.5);
    test::scaleRank(costs, plan, 2, 1.2);
    costs.faults.links = {{0, 1, 3 * kNsPerMs}};
    costs.faults.jobs = {{{JobKind::kForward, 1, 1}, 1, 30 * kNsPerMs, 0},
                         {{JobKind::kForward, 3, 2}, 3, 0, 15 * kNsPerMs}};
    const Timeline run = test::completedRun(plan, costs, 5);
    const auto reported = [&](int threads) {
      const auto explanation = explainRun(run, {}, threads);
      return runReportJson({explanation, Diagnostics{}});
    };
    const std::string one = reported(1);
    ASSERT_NE(one.find("\"slowdown\""), std::string::npos);
    for (const int threads : {2, 3, 8}) ASSERT_EQ(reported(threads), one) << threads;
  }
}

}  // namespace
}  // namespace pipetrace
