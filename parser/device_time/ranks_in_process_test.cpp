// Processes that drive several devices, or compute on several threads.
#include "parser/device_time/ranks_in_process.h"

#include <gmock/gmock.h>

#include "parser/testing/read_chrome.h"

namespace pipetrace {
namespace {

using test::KinetoText;
using test::kinetoTimes;
using test::readKineto;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// "1F3 100 to 130": the jobs of a rank.
std::vector<std::string> jobsOfRank(const test::Reading& r, int rank) {
  std::vector<std::string> list;
  for (const Event& job : r.events(rank, kComputeLane)) {
    list.push_back(std::to_string(job.stage) + (job.kind == JobKind::kForward ? "F" : "B") +
                   std::to_string(job.microBatch) + " " + kinetoTimes(job));
  }
  return list;
}

/// Stages of one process, each with a thread of the host and a device of its own.
KinetoText twoDevices(int secondDevice) {
  KinetoText trace;
  int launch = 0;
  const auto job = [&](const std::string& name, int stage, int begin, int length) {
    ++launch;
    const int device = stage == 0 ? 0 : secondDevice;
    trace.annotation(name, {.thread = 1 + stage, .begin = begin, .length = 9})
        .launch(launch, {.thread = 1 + stage, .begin = begin + 1, .length = 2})
        .kernel(launch, {.begin = begin + 10, .length = length, .device = device});
  };
  job("PP:0F0", 0, 100, 20);
  job("PP:0F1", 0, 120, 20);
  job("PP:1F0", 1, 120, 20);
  job("PP:1B0", 1, 140, 40);
  job("PP:0B0", 0, 180, 40);
  return trace;
}

TEST(RanksInProcess, DevicesOfAProcessAreRanks) {
  const test::Reading r = readKineto(twoDevices(3));
  EXPECT_THAT(jobsOfRank(r, 0), ElementsAre("0F0 110 to 130", "0F1 130 to 150", "0B0 190 to 230"));
  EXPECT_THAT(jobsOfRank(r, 1), ElementsAre("1F0 130 to 150", "1B0 150 to 190"));
  std::size_t kernels = 0;
  for (const Track& track : r.timeline.tracks) {
    const bool isOfDevice = track.rank == 1 && track.lane.ends_with("stream 7");
    if (isOfDevice) kernels += track.events.size();
  }
  EXPECT_EQ(kernels, 2U) << "the lanes of a device are those of its rank";
  EXPECT_EQ(r.timeline.ranks.size(), 2U);
}

TEST(RanksInProcess, ProcessThatSaysItsRankHasAsManyRanksAsDevices) {
  KinetoText trace = twoDevices(1);
  trace.rank(2, 3);
  const test::Reading r = readKineto(trace);
  EXPECT_THAT(jobsOfRank(r, 4), ElementsAre("0F0 110 to 130", "0F1 130 to 150", "0B0 190 to 230"));
  EXPECT_THAT(jobsOfRank(r, 5), ElementsAre("1F0 130 to 150", "1B0 150 to 190"));
}

TEST(RanksInProcess, ThreadsWhoseJobsRunAtTheSameTimeAreRanks) {
  KinetoText trace;
  const auto job = [&](const std::string& name, int stage, int begin, int length) {
    trace.annotation(name, {.thread = 1 + stage, .begin = begin, .length = length})
        .operation("aten::mm", {.thread = 1 + stage, .begin = begin, .length = length});
  };
  job("PP:0F0", 0, 100, 20);
  job("PP:0F1", 0, 120, 20);
  job("PP:1F0", 1, 120, 20);
  job("PP:1B0", 1, 140, 40);
  job("PP:0B0", 0, 180, 40);
  const test::Reading r = readKineto(trace);
  EXPECT_THAT(jobsOfRank(r, 0), ElementsAre("0F0 100 to 120", "0F1 120 to 140", "0B0 180 to 220"));
  EXPECT_THAT(jobsOfRank(r, 1), ElementsAre("1F0 120 to 140", "1B0 140 to 180"));
}

TEST(RanksInProcess, StagesOfOneDeviceAreOfOneRank) {
  const test::Reading r = readKineto(twoDevices(0));
  EXPECT_THAT(jobsOfRank(r, 0), Contains("1B0 150 to 190"));
  EXPECT_THAT(jobsOfRank(r, 1), IsEmpty());
}

TEST(RanksInProcess, ThreadThatRunsBackwardsOfTheSameStageIsOfTheSameRank) {
  KinetoText trace;
  trace.annotation("PP:0F0", {.thread = 1, .begin = 100, .length = 50})
      .operation("aten::mm", {.thread = 1, .begin = 100, .length = 50})
      .annotation("PP:0B0", {.thread = 2, .begin = 120, .length = 50})
      .operation("aten::mm", {.thread = 2, .begin = 120, .length = 50});
  EXPECT_THAT(jobsOfRank(readKineto(trace), 0), ElementsAre("0F0 100 to 150", "0B0 120 to 170"));
}

TEST(KinetoGraphs, GraphWithoutNamesOfJobsSaysHowToGetThem) {
  KinetoText trace;
  trace.launch(1, {.begin = 10, .length = 5}, "cudaGraphLaunch");
  for (int i = 0; i < 4; ++i) {
    trace.kernel(1, {.begin = 100 + 10 * i, .length = 8}, "gemm",
                 R"(,"graph node id":)" + std::to_string(1 + i));
  }
  EXPECT_THAT(readKineto(trace).diagnostics,
              Contains(HasSubstr("launched by CUDA graphs, which say nothing of jobs")));
}

}  // namespace
}  // namespace pipetrace
