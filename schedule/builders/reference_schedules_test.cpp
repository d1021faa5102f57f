// Compares plans with the schedules that others wrote down: ../shared/data/schedules, where
// present.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "schedule/build_schedule.h"
#include "schedule/check/check.h"
#include "schedule/file/schedule_file.h"
#include "schedule/simulate/simulate.h"
#include "schedule/with_reductions.h"
#include "trace/testing/folders.h"

namespace pipetrace {
namespace {

const std::string kReferences = test::inSources("../shared/data/schedules/");

Plan reference(const std::string& name) {
  std::ifstream file(kReferences + name);
  std::stringstream text;
  text << file.rdbuf();
  return withoutDataParallel(readPlan(text.str(), name));
}

class ReferenceSchedules : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kReferences)) GTEST_SKIP() << kReferences << " is not there";
  }
};

TEST_F(ReferenceSchedules, BuildersEqualTheFilesCellByCell) {
  EXPECT_EQ(buildSchedule("FThenB", 4, 8).ranks, reference("GPipe_p4_m8_v1.csv").ranks);
  EXPECT_EQ(buildSchedule("1F1B", 4, 8).ranks, reference("1F1B_p4_m8_v1.csv").ranks);
  EXPECT_EQ(buildSchedule("1F1B", 2, 8).ranks, reference("1F1B_p2_m8_v1.csv").ranks);
  EXPECT_EQ(buildSchedule("Eager1F1B", 4, 8).ranks, reference("Eager1F1B_p4_m8_v1.csv").ranks);
  EXPECT_EQ(buildSchedule("Interleaved1F1B", 4, 8, 2).ranks,
            reference("Interleaved1F1B_p4_m8_v2.csv").ranks);
  EXPECT_EQ(buildSchedule("LoopedBFS", 4, 8, 2).ranks, reference("LoopedBFS_p4_m8_v2.csv").ranks);
  EXPECT_EQ(buildSchedule("ZB-H1", 4, 8).ranks, reference("ZB1P_p4_m8_v1.csv").ranks);
  EXPECT_EQ(buildSchedule("InterleavedZeroBubble", 4, 8, 1).ranks,
            reference("InterleavedZeroBubble_p4_m8_v1.csv").ranks);
  EXPECT_EQ(buildSchedule("InterleavedZeroBubble", 4, 8, 2).ranks,
            reference("InterleavedZeroBubble_p4_m8_v2.csv").ranks);
  EXPECT_EQ(buildSchedule("DualPipe", 4, 8).ranks, reference("DualPipe_p4_m8.csv").ranks);
  EXPECT_EQ(buildSchedule("DualPipeV", 4, 8).ranks, reference("DualPipeV_p4_m8_v2.csv").ranks);
}

struct Known {
  const char* file;
  Nanoseconds length;
  Nanoseconds work;
  std::vector<int> peaks;
};

// From ../shared/data/README.md: F = I = W = 1, B = 2, free transfers.
const Known kKnown[] = {
    {"GPipe_p4_m8_v1.csv", 33, 24, {8, 8, 8, 8}},
    {"1F1B_p4_m8_v1.csv", 33, 24, {4, 3, 2, 1}},
    {"Eager1F1B_p4_m8_v1.csv", 33, 24, {7, 5, 3, 1}},
    {"Interleaved1F1B_p4_m8_v2.csv", 57, 48, {11, 9, 7, 5}},
    {"LoopedBFS_p4_m8_v2.csv", 57, 48, {16, 16, 16, 16}},
    {"ZB1P_p4_m8_v1.csv", 27, 24, {4, 4, 4, 4}},
    {"InterleavedZeroBubble_p4_m8_v2.csv", 51, 48, {8, 8, 8, 8}},
    {"ZB2P_p4_m8_v1.csv", 27, 24, {8, 8, 8, 8}},
    {"ZBV_p4_m8_v2.csv", 51, 48, {8, 8, 8, 8}},
    {"VHalf_p4_m8_v2.csv", 53, 48, {6, 6, 6, 6}},
    {"VMin_p4_m8_v2.csv", 59, 48, {4, 4, 4, 4}},
    {"DualPipe_p4_m8.csv", 26, 24, {5, 5, 5, 5}},
    {"DualPipeV_p4_m8_v2.csv", 54, 48, {9, 9, 9, 9}},
};

TEST_F(ReferenceSchedules, SimulatedLengthsAndPeaksAreThePublishedOnes) {
  for (const Known& known : kKnown) {
    SCOPED_TRACE(known.file);
    const Plan plan = reference(known.file);
    const Simulation result =
        simulate(CheckedPlan(plan), Costs::equal(plan.numStages, {1, 2, 1, 1}));
    EXPECT_EQ(result.length, known.length);
    for (std::size_t r = 0; r < result.ranks.size(); ++r) {
      EXPECT_EQ(result.ranks[r].busy, known.work) << "rank " << r;
      EXPECT_EQ(result.ranks[r].peakLive, known.peaks[r]) << "rank " << r;
    }
  }
}

TEST_F(ReferenceSchedules, ZeroBubbleSchedulesHaveNoSpanBubble) {
  for (const char* file : {"ZB2P_p4_m8_v1.csv", "ZBV_p4_m8_v2.csv"}) {
    const Plan plan = reference(file);
    const Simulation result =
        simulate(CheckedPlan(plan), Costs::equal(plan.numStages, {1, 2, 1, 1}));
    for (const Simulation::Rank& rank : result.ranks) EXPECT_EQ(rank.last - rank.first, rank.busy);
  }
}

TEST_F(ReferenceSchedules, FilesWhoseStagesHaveOneRankPassTheCheck) {
  for (const auto& entry : std::filesystem::directory_iterator(kReferences)) {
    const std::string name = entry.path().filename();
    if (name.starts_with("DualPipe_")) continue;  // runs each stage on two ranks
    const auto problems = check(reference(name));
    EXPECT_TRUE(problems.empty()) << name << ": " << toText(problems.front());
  }
}

TEST_F(ReferenceSchedules, WriterReproducesEveryFileExceptItsBlankCells) {
  for (const auto& entry : std::filesystem::directory_iterator(kReferences)) {
    const Plan plan = reference(entry.path().filename());
    EXPECT_EQ(readPlan(toCsv(plan), plan.name).ranks, plan.ranks);
  }
}

}  // namespace
}  // namespace pipetrace
