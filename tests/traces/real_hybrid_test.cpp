// Real PP x FSDP and PP x TP trainings over Gloo: wall time, data loaders, and the difference of
// two runs. All of it is beside what the programs measured themselves (truth.json).
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analysis/diff/run_diff.h"
#include "analysis/present/diff_report.h"
#include "analysis/present/finding_sentences.h"
#include "analysis/run/steps/median_step.h"
#include "analysis/run_summary.h"
#include "analysis/testing/explained_run.h"
#include "analysis/testing/run_of_timeline.h"
#include "analysis/what_if/advice.h"
#include "parser/testing/load_timeline.h"
#include "trace/testing/folders.h"

namespace pipetrace {
namespace {

namespace fs = std::filesystem;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::MatchesRegex;

class RealHybrid : public testing::Test {
 protected:
  static fs::path folder(const std::string& name) {
    return fs::path(test::inSources("../shared/data/real_hybrid")) / name;
  }

  void SetUp() override {
    if (!fs::exists(folder("t_fsdp"))) GTEST_SKIP() << folder("t_fsdp") << " is not there";
  }

  static Timeline runOf(const std::string& name) {
    Diagnostics diagnostics;
    Timeline timeline = test::loadTimeline({folder(name).string()}, {.threads = 1}, diagnostics);
    completeTimeline(timeline, diagnostics);
    return timeline;
  }

  /// A figure of a step as the programs measured it: the mean over ranks, in ms.
  static double truth(const std::string& name, const char* what) {
    std::ifstream file(folder(name) / "truth.json");
    double sum = 0;
    const auto ranks = nlohmann::json::parse(file);
    for (const auto& rank : ranks) sum += rank[what].get<double>();
    return sum / static_cast<double>(ranks.size());
  }

  static double inMs(Nanoseconds time) { return static_cast<double>(time) / 1e6; }
};

TEST_F(RealHybrid, DataThatAllRanksLoadIsTheFirstFindingAndPartOfTheStep) {
  const auto run = explainRun(runOf("t_fsdp_dataall"), {});
  const MedianStep step = medianStepOf(run.summary, run.counted);
  ASSERT_TRUE(step.wall);
  EXPECT_NEAR(inMs(*step.wall), truth("t_fsdp_dataall", "step_wall_ms"), 20);
  EXPECT_NEAR(inMs(step.window), truth("t_fsdp_dataall", "step_wall_ms") - 600, 30);
  const Finding& first = run.findings.at(0);
  EXPECT_THAT(findingText(first), MatchesRegex("data loaders of 4 ranks: 600\\.[0-9] ms a step, "
                                               "the longest on rank [0-3]: .*"));
  // Nobody knows what follows the last step.
  EXPECT_NEAR(first.shareOfSteps, 4 * 600.5 / (4 * 600.5 + 5 * 1033), 0.01);
}

TEST_F(RealHybrid, NoFindingNamesARankTwice) {
  std::size_t several = 0;
  const auto run = explainRun(runOf("t_fsdp"), {});
  for (const Finding& finding : run.findings) {
    std::set<int> ranks;
    for (const auto& [rank, time] : finding.ranks) {
      EXPECT_TRUE(ranks.insert(rank).second) << findingText(finding);
    }
    several += ranks.size() > 1 ? 1 : 0;
  }
  EXPECT_GT(several, 0U);
}

TEST_F(RealHybrid, DataThatOneRankLoadsIsTheFirstFinding) {
  const auto run = explainRun(runOf("t_fsdp_data1"), {});
  EXPECT_THAT(findingText(run.findings.at(0)),
              MatchesRegex("rank 1's data loader: 150\\.[0-9] ms a step.* inside jobs.*"));
}

TEST_F(RealHybrid, ComparedByWallTimeARunThatLoadsDataIsSlowerByThat) {
  const RunDiff diff = diffOf(asRun(runOf("t_fsdp")), asRun(runOf("t_fsdp_dataall")), {});
  const double ratio = truth("t_fsdp_dataall", "step_wall_ms") / truth("t_fsdp", "step_wall_ms");
  const DiffFigure& judged = diff.judged();
  EXPECT_NEAR(static_cast<double>(judged.b) / static_cast<double>(judged.a), ratio, 0.01);
  EXPECT_EQ(diffVerdict(diff), "slower");
  EXPECT_TRUE(diff.isSlower());
  EXPECT_THAT(diffAnswer(diff), ContainsRegex("data loaders take 600\\.[0-9] ms instead of "));
}

TEST_F(RealHybrid, ASoundRunHasNoFindingAboutASlowLink) {
  const auto run = explainRun(runOf("t_itp"), {});
  for (const Finding& finding : run.findings) {
    const bool isOfLink = finding.bubbleClass == BubbleClass::kTransfer;
    EXPECT_TRUE(!isOfLink || finding.shareOfSteps < 0.01) << findingText(finding);
    EXPECT_NE(finding.kind, FindingKind::kSlowLink) << findingText(finding);
  }
}

// Nobody knows what rank 3 waited for. If its jobs began at once, the step would be shorter than
// they are one after the other.
TEST(LateSendsWithoutARank, GetNoAdviceOnLaunches) {
  const fs::path folder =
      fs::path(test::inSources("../shared/data/public_reports/15-zb73-late-sends")) / "traces";
  if (!fs::exists(folder)) GTEST_SKIP() << folder << " is not there";
  std::vector<std::string> files;
  for (const char* const rank : {"0", "1", "3"}) {
    files.push_back((folder / (std::string("rank") + rank + "_trace.json")).string());
  }
  Diagnostics diagnostics;
  Timeline timeline = test::loadTimeline(files, {.threads = 1}, diagnostics);
  completeTimeline(timeline, diagnostics);
  for (const Advice& advice : adviceOn(asRun(timeline), {}).best) {
    EXPECT_NE(advice.of, Advice::Of::kLaunches) << advice.what;
  }
}

}  // namespace
}  // namespace pipetrace
