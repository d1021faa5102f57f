// Messages in line (../shared/data/message_order). The expected times are those of a separate
// program.
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <string>

#include "analysis/causes/explanation.h"
#include "analysis/present/finding_sentences.h"
#include "analysis/run_summary.h"
#include "analysis/testing/explained_run.h"
#include "parser/testing/load_timeline.h"
#include "schedule/file/schedule_file.h"
#include "schedule/simulate/simulate.h"
#include "trace/testing/folders.h"

namespace pipetrace {
namespace {

namespace fs = std::filesystem;
using enum BubbleClass;

struct OfFile {
  const char* name;
  double own, transfer, blocked;
  std::array<double, 4> blockedByRank;
  double inTime;  // ms that a step takes with messages in the order of their times
};
constexpr std::array<OfFile, 4> kFiles{
    {{"Interleaved1F1B", 289.0, 98.9, 640.1, {164.6, 176.8, 158.4, 140.2}, 584},
     {"InterleavedZeroBubble", 120.0, 75.1, 356.9, {89.9, 92.1, 89.1, 85.8}, 526},
     {"LoopedBFS", 360.0, 146.1, 989.9, {239.8, 249.2, 250.0, 251.0}, 576},
     {"ZBVZeroBubble", 114.0, 65.9, 172.1, {47.9, 43.2, 40.7, 40.3}, 523}}};

class MessageOrder : public testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(kFolder)) GTEST_SKIP() << kFolder << " is not there";
  }

  static ExplainedRun explained(Timeline& timeline) {
    Diagnostics diagnostics;
    completeTimeline(timeline, diagnostics);
    return explainRun(timeline, {});
  }

  /// `near`: how far a time may be off, of the expected one.
  template <typename Near>
  static void expectTimes(const Explanation& run, const OfFile& file, int steps, const Near& near) {
    double own = 0;
    double transfer = 0;
    double blocked = 0;
    ASSERT_EQ(run.ranks.size(), 4U);
    for (std::size_t r = 0; r < 4; ++r) {
      const auto ms = [&](BubbleClass c) {
        return static_cast<double>(run.ranks[r].bubbles[static_cast<std::size_t>(c)]) / kNsPerMs;
      };
      own += ms(kWarmUp) + ms(kSteady) + ms(kDrain);
      transfer += ms(kTransfer);
      blocked += ms(kBlocked);
      const double expected = steps * file.blockedByRank[r];
      EXPECT_NEAR(ms(kBlocked), expected, near(expected)) << file.name << ", rank " << r;
      EXPECT_EQ(ms(kLateStart) + ms(kPeerWait) + ms(kImbalance) + ms(kSync) + ms(kUnknown), 0);
    }
    EXPECT_NEAR(own, steps * file.own, near(steps * file.own)) << file.name;
    EXPECT_NEAR(transfer, steps * file.transfer, near(steps * file.transfer)) << file.name;
    EXPECT_NEAR(blocked, steps * file.blocked, near(steps * file.blocked)) << file.name;
  }

  static inline const std::string kFolder = test::inSources("../shared/data/message_order");
};

TEST_F(MessageOrder, EachRankHasTheTimesOfItsClasses) {
  for (const OfFile& file : kFiles) {
    const CheckedPlan plan(readScheduleFile(kFolder + "/" + file.name + "_p4_m8_v2_comms.csv"));
    Costs costs = Costs::equal(plan->numStages, {.forward = 10 * kNsPerMs,
                                                 .backward = 20 * kNsPerMs,
                                                 .backwardInput = 10 * kNsPerMs,
                                                 .backwardWeight = 10 * kNsPerMs});
    costs.transfer = kNsPerMs;
    Timeline timeline = simulate(plan, costs, {.commStreams = CommStreams::kRank}).timeline;
    const auto run = explained(timeline);
    expectTimes(run, file, 1, [](double) { return 0.1; });
    ASSERT_FALSE(run.findings.empty());
    EXPECT_EQ(run.findings.front().bubbleClass, kBlocked) << file.name;
    const std::string inTime = std::to_string(static_cast<int>(file.inTime)) + ".0 ms";
    EXPECT_TRUE(findingText(run.findings.front()).ends_with("the step would take " + inTime))
        << findingText(run.findings.front());
  }
}

TEST_F(MessageOrder, TracesOfTorchHaveTheSameTimesInEachStep) {
  Diagnostics diagnostics;
  Timeline timeline = test::loadTimeline({kFolder + "/traces"}, {.threads = 1}, diagnostics);
  const auto run = explained(timeline);
  ASSERT_EQ(run.steps.size(), 3U);
  expectTimes(run, kFiles[0], 3, [](double expected) { return 0.005 * expected; });
  EXPECT_EQ(run.findings.at(0).bubbleClass, kBlocked);
}

}  // namespace
}  // namespace pipetrace
