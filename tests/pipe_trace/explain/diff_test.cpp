// pipe-trace diff, as users run it.
#include <filesystem>

#include "tests/pipe_trace/explain/slow_run_fixture.h"

namespace pipetrace {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

class DiffCommand : public SlowRuns {
 protected:
  static ProgramRun diff(const std::vector<std::string>& arguments) {
    return ask("diff", arguments);
  }

  /// Logs of four steps, in which jobs of stage 2 take `percent` % of the usual time. Step k has
  /// k % longer jobs, so that steps differ.
  std::string logsWith(int percent, const std::string& name, int steps = 4) const {
    Costs costs = costsWith(2, percent);
    const Plan plan = buildSchedule("1F1B", 4, 8);
    for (const auto& actions : plan.ranks) {
      for (const Action& action : actions) {
        for (int step = 0; step < steps; ++step) {
          costs.faults.jobs.push_back(
              {.action = action, .step = step, .longer = step * kNsPerMs / 10});
        }
      }
    }
    return logs(simulate(CheckedPlan(plan), costs, {.steps = steps, .stepsStartTogether = true}),
                name);
  }
};

TEST_F(DiffCommand, FirstLineSaysByHowMuchHowSurelyAndWhy) {
  const ProgramRun result = diff({logsWith(100, "a"), logsWith(110, "b")});
  EXPECT_EQ(result.exitCode, 0) << result.err;
  EXPECT_THAT(result.err, IsEmpty());
  EXPECT_THAT(
      result.out,
      AllOf(ContainsRegex("^B's steps take [0-9.]+ ms more \\(\\+[0-9.]+ %, 95 % [0-9.]+ to "
                          "[0-9.]+ %\\): stage 2's jobs take 9\\.. % longer \\(\\+"),
            HasSubstr("\nA  " + path("a") + ": 4 ranks, 4 steps of 8 micro-batches, 1F1B"),
            HasSubstr("imbalance (stage 2)"), HasSubstr("forwards of stage 2")));
}

TEST_F(DiffCommand, JsonFollowsItsSchemaAndAddsUp) {
  const std::string a = logsWith(100, "a");
  const std::string b = logsWith(110, "b");
  const ProgramRun result = diff({a, b, "--json"});
  ASSERT_EQ(result.exitCode, 0) << result.err;
  expectValid(result.out, "diff.schema.json");
  const json object = json::parse(result.out);
  EXPECT_EQ(object["verdict"], "slower");
  EXPECT_EQ(object["slower_beyond_tolerance"], true);
  Nanoseconds parts = 0;
  for (const json& part : object["parts"]) parts += part["difference_ns"].get<Nanoseconds>();
  EXPECT_EQ(parts, object["step"]["difference_ns"]);
  Nanoseconds reasons = 0;
  for (const json& reason : object["reasons"]) reasons += reason["time_ns"].get<Nanoseconds>();
  EXPECT_EQ(reasons, object["step"]["difference_ns"]);
  EXPECT_THAT(object["answer"].get<std::string>(), StartsWith("B's steps take "));
  expectValid(diff({a, logsWith(100, "one", 1), "--json"}).out, "diff.schema.json");
}

TEST_F(DiffCommand, StrictFailsWhereBIsSlowerThanToleranceAndNoise) {
  const std::string a = logsWith(100, "a");
  const std::string b = logsWith(110, "b");
  EXPECT_EQ(diff({a, b, "--strict"}).exitCode, 1);
  EXPECT_EQ(diff({b, a, "--strict"}).exitCode, 0) << "B is faster";
  EXPECT_EQ(diff({a, a, "--strict"}).exitCode, 0);
  const ProgramRun tolerated = diff({a, b, "--strict", "--tolerance", "20%"});
  EXPECT_EQ(tolerated.exitCode, 0);
  EXPECT_THAT(tolerated.out, HasSubstr("), within the tolerance of 20.0 %: "));
  EXPECT_EQ(diff({a, b, "--strict", "--tolerance", "0.2"}).exitCode, 0);
}

TEST_F(DiffCommand, StrictRefusesToJudgeBySingleSteps) {
  const std::string a = logsWith(100, "a", 1);
  const ProgramRun result = diff({a, logsWith(110, "b", 1), "--strict"});
  EXPECT_EQ(result.exitCode, 2);
  EXPECT_THAT(result.err, HasSubstr("--strict cannot judge: B's steps take "));
}

TEST_F(DiffCommand, InputsAreFoldersFilesAndQuotedPatterns) {
  const std::string a = logsWith(100, "a");
  const std::string b = logsWith(110, "b");
  const std::string whole = diff({a, b}).out;
  const std::string first = whole.substr(0, whole.find('\n'));
  EXPECT_THAT(diff({a, path("b/workerlog.*")}).out, StartsWith(first));
  EXPECT_EQ(run({b, "-q", "-o", path("b.json")}).exitCode, 0);
  EXPECT_THAT(diff({a, path("b.json")}).out, StartsWith(first));
  EXPECT_THAT(diff({a, path("b.js[o]n")}).out, StartsWith(first));
  expectError(diff({a, path("none*")}), "B: no file matches " + path("none*"), "check the pattern");
  expectError(diff({path("none"), b}), "A: ", path("none"));
}

TEST_F(DiffCommand, FindingsNameTheRunThatTheyAreAbout) {
  const std::string a = logsWith(100, "a");
  const ProgramRun result = diff({a, path("a/workerlog.1")});
  EXPECT_THAT(result.err, HasSubstr("warning: B: 1 of 4 ranks is there"));
  EXPECT_THAT(result.out, HasSubstr("both are compared as if only rank 1 were there"));
}

TEST_F(DiffCommand, ToleranceThatIsNoShareIsRefused) {
  for (const char* const text : {"2", "-1%", "many", "100%", ""}) {
    const ProgramRun result = diff({"a", "b", "--tolerance", text});
    EXPECT_EQ(result.exitCode, 2);
    EXPECT_THAT(result.err, HasSubstr("write 2% or 0.02")) << text;
  }
}

TEST_F(DiffCommand, RunWithoutJobsIsRefusedByItsLetter) {
  write("workerlog.0",
        "Profiler Info: Job (0), type = lr, micro_batch_id = 0, job_start_time = 1000.000001, "
        "job_end_time = 1000.000002, id = 1, step = 0\n");
  const ProgramRun result = diff({logsWith(100, "a"), path("workerlog.0")});
  EXPECT_EQ(result.exitCode, 2);
  EXPECT_THAT(result.err, HasSubstr("B: the inputs hold no compute job"));
}

}  // namespace
}  // namespace pipetrace
