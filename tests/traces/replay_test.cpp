// Real runs that run again, nothing changed, are these runs to the nanosecond. With changes they
// are compared with the what-if analysis of the straggler study, which left launches out.
#include <gtest/gtest.h>

#include <cctype>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "analysis/run_summary.h"
#include "analysis/testing/run_of_timeline.h"
#include "analysis/what_if/run_again.h"
#include "analysis/what_if/what_if.h"
#include "parser/testing/load_timeline.h"
#include "trace/testing/folders.h"

namespace pipetrace {
namespace {

namespace fs = std::filesystem;

fs::path dataOf(const std::string& name) {
  return fs::path(test::inSources("../shared/data")) / name;
}

Timeline completedRun(const fs::path& input) {
  Diagnostics diagnostics;
  Timeline timeline = test::loadTimeline({input.string()}, {.threads = 1}, diagnostics);
  completeTimeline(timeline, diagnostics);
  return timeline;
}

class Replay : public testing::TestWithParam<const char*> {};

TEST_P(Replay, ARealRunThatRunsAgainIsTheRun) {
  const fs::path input = dataOf(GetParam());
  if (!fs::exists(input)) GTEST_SKIP() << input << " is not there";
  const pipetrace::Run run(completedRun(input));
  const CountedSteps all;
  const RunAgain again(run, all);
  ASSERT_GT(again.network().operations().size(), 0U);
  EXPECT_EQ(largestDifference(run.timeline(), again.run()), 0);
  std::size_t waiting = 0;
  for (RunNetwork::Index i = 0; i < again.network().operations().size(); ++i) {
    waiting += again.network().waits(i).empty() ? 0 : 1;
  }
  EXPECT_GT(waiting, again.network().operations().size() / 2) << "it is no list of fixed times";
}

TEST_P(Replay, ItsSimulationWithMediansIsOffByLessThanOnePercent) {
  const fs::path input = dataOf(GetParam());
  if (!fs::exists(input)) GTEST_SKIP() << input << " is not there";
  const WhatIfAnswer answer = whatIf(asRun(completedRun(input)), {});
  ASSERT_TRUE(answer.modelError.has_value()) << answer.noModel;
  EXPECT_LT(std::abs(*answer.modelError), 0.01);
}

TEST(ReplayOfTheStudy, AnIdealLastStageGainsWhatTheStudySays) {
  const fs::path folder = dataOf("straggler_study");
  if (!fs::exists(folder)) GTEST_SKIP() << folder << " is not there";
  std::ifstream file(folder / "ms-ST.json");
  const auto study = nlohmann::json::parse(file);
  WhatIfQuestion question;
  question.run.ideals = {IdealSet::parse("stage=3")};
  const WhatIfAnswer answer = whatIf(asRun(completedRun(folder / "timeline-ST.json.gz")), question);
  const double gain = study["trem"].get<double>() / study["tori"].get<double>() - 1;
  EXPECT_NEAR(answer.change(), gain, 0.005);
}

INSTANTIATE_TEST_SUITE_P(SharedData, Replay,
                         testing::Values("straggler_study/timeline-ST.json.gz", "megatronapp",
                                         "message_order/traces", "two_replicas",
                                         "kineto_nccl.json.gz"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::erase_if(name, [](char c) { return !std::isalnum(c); });
                           return name;
                         });

}  // namespace
}  // namespace pipetrace
