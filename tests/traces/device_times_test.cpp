// A made-up run on devices, from the traces of its ranks to the summary.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "analysis/testing/run_of_timeline.h"
#include "parser/testing/load_timeline.h"
#include "tests/traces/made_up_pipeline.h"

namespace pipetrace {
namespace {

namespace fs = std::filesystem;

constexpr int kRanks = 4;
constexpr int kMicroBatches = 8;

class DeviceTimesOfAPipeline : public testing::Test {
 protected:
  DeviceTimesOfAPipeline() {
    fs::create_directories(folder_);
    for (std::size_t r = 0; r < made_.traces.size(); ++r) {
      std::ofstream(folder_ / ("rank" + std::to_string(r) + ".json")) << made_.traces[r];
    }
  }
  ~DeviceTimesOfAPipeline() override { fs::remove_all(folder_); }

  Timeline load(JobTime time) {
    Diagnostics diagnostics;
    Timeline timeline = test::loadTimeline({folder_.string()}, {.jobTime = time}, diagnostics);
    completeTimeline(timeline, diagnostics);
    return timeline;
  }

  const test::MadeUpPipeline made_ = test::makePipeline(kRanks, kMicroBatches);
  const fs::path folder_ =
      fs::temp_directory_path() / ("made up pipeline " + std::to_string(::getpid()));
};

const Event* jobLike(const test::MadeUpPipeline::Job& job, const Timeline& timeline) {
  for (const Event& event : timeline.findTrack(job.rank, kComputeLane)->events) {
    if (event.kind == job.kind && event.stage == job.stage && event.microBatch == job.microBatch) {
      return &event;
    }
  }
  return nullptr;
}

TEST_F(DeviceTimesOfAPipeline, EveryJobHasTheTimesOfTheTruth) {
  const Timeline timeline = load(JobTime::kAuto);
  ASSERT_EQ(made_.jobs.size(), static_cast<std::size_t>(2 * kRanks * kMicroBatches));
  for (const auto& job : made_.jobs) {
    const Event* const found = jobLike(job, timeline);
    ASSERT_NE(found, nullptr) << job.rank << ", micro-batch " << job.microBatch;
    EXPECT_EQ(found->begin, job.begin) << job.rank << ", micro-batch " << job.microBatch;
    EXPECT_EQ(found->end, job.end) << job.rank << ", micro-batch " << job.microBatch;
  }
}

TEST_F(DeviceTimesOfAPipeline, BubbleRatioIsThatOfTheTruthAndNotThatOfTheHost) {
  // 1F1B: (p - 1) / (m + p - 1).
  const double truth = 3.0 / 11.0;
  EXPECT_NEAR(summarize(load(JobTime::kAuto)).bubbleRatio, truth, 1e-9);
  EXPECT_NEAR(summarize(load(JobTime::kDevice)).bubbleRatio, truth, 1e-9);
  EXPECT_GT(summarize(load(JobTime::kHost)).bubbleRatio, truth + 0.1);
}

}  // namespace
}  // namespace pipetrace
