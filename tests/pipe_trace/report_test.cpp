// pipe-trace report, as users run it.
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/pipe_trace/fixture.h"

namespace pipetrace {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class ReportCommand : public PipeTrace {
 protected:
  static ProgramRun report(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "report");
    return run(arguments);
  }

  static json reportOf(std::vector<std::string> arguments) {
    arguments.emplace_back("--json");
    const ProgramRun result = report(std::move(arguments));
    EXPECT_EQ(result.exitCode, 0) << result.err;
    return json::parse(result.out);
  }

  /// Logs of a run whose stage 2 takes 1.3 times as long as the others.
  std::string slowLogs() const {
    Costs costs = Costs::equal(4, {10 * kNsPerMs, 20 * kNsPerMs});
    costs.stages[2] = {13 * kNsPerMs, 26 * kNsPerMs};
    costs.transfer = kNsPerMs / 10;
    costs.optimizer = 2 * kNsPerMs;
    return logs(simulate(oneFOneB(4, 8), costs, {.steps = 4, .stepsStartTogether = true}));
  }

  static std::string shared(const std::string& name) {
    return PIPETRACE_SOURCE_DIR "/../shared/data/" + name;
  }

  void expectValid(const std::string& text) const {
    const ProgramRun check =
        runProgram({"/usr/bin/python3", PIPETRACE_SOURCE_DIR "/tests/pipe_trace/check_schema.py",
                    PIPETRACE_SOURCE_DIR "/docs/report.schema.json"},
                   {.input = text});
    if (check.exitCode == 77) GTEST_SKIP() << check.out;
    EXPECT_EQ(check.exitCode, 0) << check.out << check.err;
  }
};

TEST_F(ReportCommand, FindingsComeFirstAndNameTheSlowStage) {
  const ProgramRun result = report({slowLogs()});
  EXPECT_EQ(result.exitCode, 0) << result.err;
  EXPECT_THAT(result.out, StartsWith("4 ranks, 4 steps, 256 compute jobs\nschedule: 1F1B"));
  EXPECT_THAT(result.out, HasSubstr("\nfindings\n  1. stage 2 (rank 2) takes 1.30 times as long"));
  EXPECT_THAT(result.out, AllOf(HasSubstr("who costs whom"), HasSubstr("critical path consists")));
}

TEST_F(ReportCommand, JsonFollowsItsSchema) {
  const std::string folder = slowLogs();
  for (const std::vector<std::string>& more :
       {std::vector<std::string>{}, {"--all"}, {"--tokens-per-step", "4096"}, {"--steps", "1:3"}}) {
    std::vector<std::string> arguments = {"report", folder, "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const ProgramRun result = run(arguments);
    ASSERT_EQ(result.exitCode, 0) << result.err;
    expectValid(result.out);
  }
}

TEST_F(ReportCommand, BubblesOfARankAddUpToItsIdleTime) {
  const json run = reportOf({slowLogs(), "--all"});
  std::map<int, Nanoseconds> listed;
  for (const json& bubble : run["bubbles"]) {
    listed[bubble["rank"]] +=
        bubble["end_ns"].get<Nanoseconds>() - bubble["begin_ns"].get<Nanoseconds>();
  }
  ASSERT_EQ(run["ranks"].size(), 4U);
  for (const json& rank : run["ranks"]) {
    Nanoseconds sum = 0;
    for (const auto& [name, time] : rank["bubbles"].items()) sum += time.get<Nanoseconds>();
    EXPECT_EQ(sum, rank["idle_ns"]);
    EXPECT_EQ(listed[rank["rank"]], rank["idle_ns"]);
  }
  EXPECT_EQ(run["findings"][0]["evidence"]["culprit"]["rank"], 2);
  EXPECT_EQ(reportOf({slowLogs()})["bubbles"].size(), 50U);
}

TEST_F(ReportCommand, StepsChooseWhatMeansAreOver) {
  const std::string folder = slowLogs();
  EXPECT_EQ(reportOf({folder})["summary"]["steps"], 3);
  EXPECT_EQ(reportOf({folder, "--steps", "1:3"})["summary"]["steps"], 2);
}

TEST_F(ReportCommand, RunWithoutJobsIsRefused) {
  write("workerlog.0",
        "Profiler Info: Job (0), type = lr, micro_batch_id = 0, job_start_time = 1000.000001, "
        "job_end_time = 1000.000002, id = 1, step = 0\n");
  const ProgramRun result = report({path("workerlog.0")});
  EXPECT_EQ(result.exitCode, 2);
  EXPECT_THAT(result.err, HasSubstr("no compute job, so there is nothing to explain"));
}

TEST_F(ReportCommand, OptionsThatChangeNothingAreRefused) {
  const std::string folder = slowLogs();
  for (const std::vector<std::string>& option :
       {std::vector<std::string>{"--ranks", "2"}, {"--skip", "lr,optimizer"}}) {
    const ProgramRun result = report({folder, option[0], option[1]});
    EXPECT_EQ(result.exitCode, 2);
    EXPECT_THAT(result.err, HasSubstr(option[0] + " makes no sense for a report"));
  }
  EXPECT_THAT(report({"--help"}).out, Not(HasSubstr("--ranks")));
}

TEST_F(ReportCommand, NumbersThatAreNotAboveZeroAreRefusedInFewWords) {
  for (const char* const number : {"0", "-1", "nan", "inf", "many"}) {
    const ProgramRun result = report({slowLogs(), "--tokens-per-step", number});
    EXPECT_EQ(result.exitCode, 2);
    EXPECT_THAT(result.err,
                HasSubstr("--tokens-per-step: " + std::string(number) + " is no number above 0"));
  }
}

TEST_F(ReportCommand, PeakWithoutOperationsIsAWarning) {
  const std::string folder = slowLogs();
  const ProgramRun result = report({folder, "--peak-tflops", "989", "--strict"});
  EXPECT_EQ(result.exitCode, 1);
  EXPECT_THAT(result.err, HasSubstr("warning: --peak-tflops has no effect"));
  const ProgramRun known =
      report({folder, "--peak-tflops", "989", "--flops-per-step", "1e12", "--strict"});
  EXPECT_EQ(known.exitCode, 0) << known.err;
  EXPECT_THAT(known.out, HasSubstr("model FLOPs utilization"));
}

TEST_F(ReportCommand, AllWithoutJsonIsRefused) {
  const ProgramRun result = report({slowLogs(), "--all"});
  EXPECT_EQ(result.exitCode, 2);
  EXPECT_THAT(result.err, HasSubstr("--json"));
}

/// ../shared/data/README.md: iterations 1 to 19 last 1307.5 ms in the mean, parallel efficiency
/// 0.3552.
TEST_F(ReportCommand, MegatronAppsRunHasItsKnownFigures) {
  const std::string file = shared("megatronapp/app_aggregated.json");
  if (!std::filesystem::exists(file)) GTEST_SKIP() << file << " is not there";
  const json run = reportOf({file});
  EXPECT_NEAR(run["summary"]["duration_ns"]["mean"].get<double>(), 1307.5e6, 0.001 * 1307.5e6);
  EXPECT_NEAR(run["summary"]["parallel_efficiency"]["mean"].get<double>(), 0.3552, 0.002);
  EXPECT_EQ(run["summary"]["steps"], 19);
}

}  // namespace
}  // namespace pipetrace
