// Runs that other programs traced, and the schedules that they followed.
#include <gmock/gmock.h>

#include <filesystem>

#include "analysis/run/plans/measured_plan.h"
#include "analysis/run/plans/plan_deviations.h"
#include "analysis/run/plans/recognise_schedule.h"
#include "analysis/run_summary.h"
#include "parser/testing/load_timeline.h"
#include "tests/traces/torch_truth.h"
#include "trace/testing/folders.h"

namespace pipetrace {
namespace {

using testing::Each;
using testing::SizeIs;

struct Found {
  MeasuredPlan measured;
  RecognisedSchedule schedule;
};

/// Every step of every pipeline.
std::vector<Found> stepsOf(const std::string& input) {
  Diagnostics diagnostics;
  Timeline timeline = test::loadTimeline({input}, {.threads = 1}, diagnostics);
  completeTimeline(timeline, diagnostics);
  const Topology topology = topologyOf(timeline);
  std::vector<Found> found;
  for (const StepWindow& window : stepWindows(timeline)) {
    found.push_back({measuredPlan(timeline, topology, window.replica, window.step), {}});
    found.back().schedule = recogniseSchedule(found.back().measured.plan);
  }
  return found;
}

// The script that recorded them asked torch for these. Its ScheduleGPipe is our FThenB.
TEST(RecognisedRuns, TorchsSchedulesAreRecognisedInItsTraces) {
  const std::pair<const char*, std::vector<std::string>> kRecordings[] = {
      {"1f1b", {"1F1B", "PipeDream", "PipeDream-2BW"}},
      {"1f1b_no_steps", {"1F1B", "PipeDream", "PipeDream-2BW"}},
      {"dualpipev", {"DualPipeV"}},
      {"gpipe", {"FThenB"}},
      {"gpipe_inner", {"FThenB"}},
      {"interleaved_1f1b", {"Interleaved1F1B"}},
      {"interleaved_1f1b_inner", {"Interleaved1F1B"}},
      {"interleaved_zero_bubble", {"InterleavedZeroBubble"}},
      {"looped_bfs", {"LoopedBFS"}},
      {"zbv", {"ZBV"}},
  };
  for (const auto& [name, schedules] : kRecordings) {
    const std::vector<Found> steps = stepsOf(test::torchRecording(name));
    EXPECT_FALSE(steps.empty()) << name;
    for (const Found& step : steps) {
      EXPECT_EQ(step.measured.problem, "") << name;
      EXPECT_TRUE(step.schedule.isExact) << name;
      EXPECT_EQ(step.schedule.names, schedules);
      EXPECT_TRUE(findDeviations(step.measured.plan, step.schedule.plan).isEmpty()) << name;
    }
  }
}

const std::string kFolder = test::inSources("../shared/data/");

TEST(RecognisedRuns, ProductionJobOfTheStragglerStudyFollowed1F1B) {
  const std::string file = kFolder + "straggler_study/timeline-ST.json.gz";
  if (!std::filesystem::exists(file)) GTEST_SKIP() << file << " is not there";
  const std::vector<Found> steps = stepsOf(file);
  ASSERT_THAT(steps, SizeIs(2 * 32)) << "two pipelines, 32 steps";
  for (const Found& step : steps) {
    EXPECT_TRUE(step.measured.isWhole()) << step.measured.problem;
    EXPECT_THAT(step.measured.rankNumbers, SizeIs(4));
    EXPECT_TRUE(step.schedule.isExact);
    EXPECT_EQ(toText(step.schedule), "1F1B");
  }
}

// All 8 micro-batches go through a chunk before the next chunk begins, and back oldest first. With
// 4 ranks our Interleaved1F1B has rounds of 4, and LoopedBFS goes back newest first.
TEST(RecognisedRuns, MegatronAppsOrderIsUnknown) {
  const std::string file = kFolder + "megatronapp/app_aggregated.json";
  if (!std::filesystem::exists(file)) GTEST_SKIP() << file << " is not there";
  const std::vector<Found> steps = stepsOf(file);
  ASSERT_THAT(steps, SizeIs(20));
  for (const Found& step : steps) {
    EXPECT_TRUE(step.measured.isWhole()) << step.measured.problem;
    EXPECT_THAT(step.measured.plan.ranks, Each(SizeIs(2 * 4 * 8)));
    EXPECT_EQ(toText(step.schedule), "unknown order");
    // The last rank's row, as its file has it: the last chunk alternates, nothing else does.
    const auto& last = step.measured.plan.ranks[3];
    std::string text;
    for (std::size_t i = 22; i < 30; ++i) text += toText(last[i]) + " ";
    EXPECT_EQ(text, "11F6 11F7 15F0 15B0 15F1 15B1 15F2 15B2 ");
    EXPECT_EQ(toText(last.back()), "3B7");
  }
}

}  // namespace
}  // namespace pipetrace
