// Checks the results of tools/demo.sh, which the fixture `demo` runs once.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>
#include <regex>
#include <string>
#include <vector>

#include "analysis/run/costs/measured_costs.h"
#include "analysis/testing/run_of_timeline.h"
#include "parser/testing/load_timeline.h"
#include "schedule/build_schedule.h"
#include "schedule/simulate/simulate.h"
#include "trace/testing/file_text.h"
#include "trace/testing/folders.h"

namespace pipetrace {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::SizeIs;
using testing::StartsWith;

constexpr int kRanks = 4;
constexpr int kMicroBatches = 8;

const fs::path kDemo = test::inBuild("tests/demo");

Timeline load(const fs::path& path) {
  Diagnostics diagnostics;
  Timeline timeline = test::loadTimeline({path.string()}, {}, diagnostics);
  for (const Diagnostic& d : diagnostics.list()) ADD_FAILURE() << toText(d);
  return timeline;
}

std::vector<double> losses() {
  const std::string text = test::fileText(kDemo / "training.txt");
  const std::regex line(R"(step\s+(\d+)\b.*?\bloss\s+([0-9.]+))");
  std::vector<double> list;
  for (std::sregex_iterator it(text.begin(), text.end(), line), end; it != end; ++it) {
    list.push_back(std::stod((*it)[2]));
  }
  return list;
}

double mean(std::vector<double>::const_iterator begin, std::vector<double>::const_iterator end) {
  return std::accumulate(begin, end, 0.0) / static_cast<double>(end - begin);
}

TEST(DemoTest, TheLossFallsToSevenTenthsOfItsFirstValue) {
  const auto list = losses();
  ASSERT_GE(list.size(), 20U);
  EXPECT_LE(mean(list.end() - 10, list.end()), 0.7 * mean(list.begin(), list.begin() + 10));
}

TEST(DemoTest, EveryRankLeavesAWholeLogWithNothingDropped) {
  for (const char* run : {"logs", "rehearsal"}) {
    const Timeline timeline = load(kDemo / run);
    EXPECT_THAT(timeline.ranks, SizeIs(kRanks));
    for (const auto& [rank, info] : timeline.ranks) {
      EXPECT_TRUE(fs::exists(kDemo / run / ("workerlog." + std::to_string(rank))));
      EXPECT_TRUE(info.hasEnd) << run << " rank " << rank;
      EXPECT_EQ(info.dropped, 0) << run << " rank " << rank;
      EXPECT_EQ(info.errors, 0) << run << " rank " << rank;
      EXPECT_EQ(info.numStages, kRanks);
      EXPECT_EQ(info.numMicroBatches, kMicroBatches);
    }
  }
}

TEST(DemoTest, EveryStepOfEveryRankFollowsThePlanBetweenLrAndOptimizerOnceItsDataAreThere) {
  const Plan plan = buildSchedule("1F1B", kRanks, kMicroBatches);
  const Timeline timeline = load(kDemo / "logs");
  for (int rank = 0; rank < kRanks; ++rank) {
    const Track* track = timeline.findTrack(rank, kComputeLane);
    ASSERT_NE(track, nullptr);
    const auto& actions = plan.ranks[static_cast<std::size_t>(rank)];
    // The first rank needs the inputs of a batch, the last one its targets.
    const std::size_t first = rank == 0 || rank == kRanks - 1 ? 2 : 1;
    const std::size_t perStep = first + actions.size() + 1;
    ASSERT_EQ(track->events.size() % perStep, 0U);
    for (std::size_t i = 0; i < track->events.size(); ++i) {
      const Event& job = track->events[i];
      const std::size_t k = i % perStep;
      ASSERT_EQ(job.step, track->events[i - k].step);
      if (i > 0) {
        ASSERT_GE(job.begin, track->events[i - 1].end) << "jobs of a lane overlap";
      }
      if (k < first || k == perStep - 1) {
        const JobKind before = k + 1 == first ? JobKind::kLr : JobKind::kData;
        ASSERT_EQ(job.kind, k < first ? before : JobKind::kOptimizer);
        continue;
      }
      ASSERT_EQ(job.kind, actions[k - first].kind);
      ASSERT_EQ(job.microBatch, actions[k - first].microBatch);
      ASSERT_EQ(job.stage, rank);
    }
  }
}

TEST(DemoTest, TheProfileHoldsEveryJobAndTransferOfTheLogs) {
  const Timeline logs = load(kDemo / "logs");
  const Timeline profile = load(kDemo / "profile.json");
  for (const Track& track : logs.tracks) {
    const Track* same = profile.findTrack(track.rank, track.lane);
    ASSERT_NE(same, nullptr) << track.rank << " " << track.lane;
    ASSERT_EQ(same->events.size(), track.events.size());
    for (std::size_t i = 0; i < track.events.size(); ++i) {
      ASSERT_EQ(same->events[i].begin, track.events[i].begin);
      ASSERT_EQ(same->events[i].end, track.events[i].end);
      ASSERT_EQ(same->events[i].kind, track.events[i].kind);
      ASSERT_EQ(same->events[i].job, track.events[i].job);
    }
  }
}

TEST(DemoTest, EveryTransferHasItsOtherEnd) {
  const Timeline logs = load(kDemo / "logs");
  std::int64_t sends = 0;
  std::int64_t receives = 0;
  std::int64_t steps = 0;
  for (const Track& track : logs.tracks) {
    for (const Event& e : track.events) {
      sends += isSend(e.kind) ? 1 : 0;
      receives += isRecv(e.kind) ? 1 : 0;
      steps += e.kind == JobKind::kLr && track.rank == 0 ? 1 : 0;
    }
  }
  EXPECT_EQ(sends, steps * 2 * (kRanks - 1) * kMicroBatches);
  EXPECT_EQ(receives, sends);
}

TEST(DemoTest, TheRehearsalTakesAsLongAsThePlanOnFourDevices) {
  Timeline logs = load(kDemo / "logs");
  Timeline rehearsal = load(kDemo / "rehearsal");
  Diagnostics diagnostics;
  completeTimeline(logs, diagnostics);
  completeTimeline(rehearsal, diagnostics);
  const RunSummary measured = summarize(rehearsal);
  Simulation plan = simulate(buildSchedule("1F1B", kRanks, kMicroBatches),
                             measuredCosts(asRun(logs)), {.steps = 5});
  const RunSummary planned = summarize(plan.timeline);
  ASSERT_THAT(measured.steps, SizeIs(5));
  ASSERT_THAT(planned.steps, SizeIs(5));
  // The emulated devices wait for the times of their jobs, so this holds on any machine; 2 % allow
  // for a busy one.
  std::vector<Nanoseconds> lengths;
  for (const StepSummary& step : measured.steps) lengths.push_back(step.duration());
  std::nth_element(lengths.begin(), lengths.begin() + 2, lengths.end());
  EXPECT_NEAR(static_cast<double>(lengths[2]) / static_cast<double>(planned.steps[2].duration()),
              1.0, 0.02);
  EXPECT_NEAR(measured.bubbleRatio, planned.bubbleRatio, 0.02);
}

TEST(DemoTest, ThePageOfTheReportHasAChartOfEachRank) {
  const std::string page = test::fileText(kDemo / "report.html");
  EXPECT_THAT(page, StartsWith("<!DOCTYPE html>"));
  for (int rank = 0; rank < kRanks; ++rank) {
    EXPECT_THAT(page, HasSubstr("\"name\":\"rank " + std::to_string(rank) + "\",\"jobs\":"));
  }
}

TEST(DemoTest, ThePictureIsAPngOfReadableSize) {
  const std::string png = test::fileText(kDemo / "profile.png");
  ASSERT_THAT(png, StartsWith("\x89PNG\r\n\x1a\n"));
  ASSERT_GT(png.size(), 10'000U);
  const auto number = [&](std::size_t at) {  // big-endian, of the header chunk
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<std::uint8_t>(png[at + i]);
    return value;
  };
  EXPECT_GE(number(16), 1000U);
  EXPECT_GE(number(20), 300U);
}

}  // namespace
}  // namespace pipetrace
