// The files of pipe-trace plan: job logs, profiles, pictures, schedules.
#include "schedule/build_schedule.h"
#include "tests/pipe_trace/plan/plan_fixture.h"

namespace pipetrace {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST_F(PlanCommand, EveryScheduleOpensAsARunWithTheSameFigures) {
  for (const std::string& name : scheduleNames()) {
    const std::string folder = path("logs of " + name) + "/";
    const json plan = jsonOf(name, {"-o", folder, "--transfer-ms", "0.25"});
    const json summary = summaryOf(folder);
    EXPECT_EQ(summary.at("topology_inferred"), false) << name;
    ASSERT_EQ(summary.at("steps").size(), 1U) << name;
    const json& step = summary.at("steps")[0];
    EXPECT_EQ(step.at("duration_ns"), plan.at("length_ns")) << name;
    EXPECT_EQ(summary.at("bubble_ratio"), plan.at("bubble_ratio")) << name;
    EXPECT_EQ(step.at("span_bubble"), plan.at("span_bubble")) << name;
    ASSERT_EQ(summary.at("ranks").size(), 4U);
    std::size_t actions = 0;
    for (int rank = 0; rank < 4; ++rank) {
      for (const char* key : {"busy_ns", "idle_ns", "bubble_ratio"}) {
        EXPECT_EQ(summary.at("ranks")[rank].at(key), plan.at("ranks")[rank].at(key)) << name;
      }
      actions += plan.at("schedule").at("actions")[rank].size();
    }
    const ProgramRun profile = run({folder, "-o", path("profile.json")});
    EXPECT_THAT(profile.out, HasSubstr(": " + std::to_string(actions) + " jobs, ")) << name;
  }
}

// PaddlePaddle's converter takes a step that begins at 0 for none.
TEST_F(PlanCommand, NoJobOfTheLogsBeginsAtZero) {
  const std::string folder = path("logs/");
  for (const char* costs : {"--forward-ms=1", "--lr-ms=0.1"}) {
    ASSERT_EQ(planOf("1F1B", {costs, "-o", folder}).exitCode, 0);
    for (int rank = 0; rank < 4; ++rank) {
      const std::string log = contents(folder + "workerlog." + std::to_string(rank));
      EXPECT_THAT(log, Not(HasSubstr("_time = 0."))) << costs << ", rank " << rank;
    }
    EXPECT_THAT(contents(folder + "workerlog.0"), HasSubstr("job_start_time = 1.000000,")) << costs;
  }
}

TEST_F(PlanCommand, ProfileIsThatOfTheLogs) {
  const ProgramRun result =
      planOf("1F1B", {"--transfer-ms", "0.5", "-o", path("logs/"), "-o", path("plan.json")});
  EXPECT_EQ(result.exitCode, 0) << result.err;
  EXPECT_EQ(summaryOf(path("logs")), summaryOf(path("plan.json")));
}

TEST_F(PlanCommand, LogsAndProfilesOfHostsWithWrongClocksAreRightAgainByTheirComparisons) {
  const std::vector<std::string> common = {"--transfer-ms", "0.5", "--steps", "5"};
  const auto written = [&](const std::string& to, std::vector<std::string> more) {
    more.insert(more.end(), common.begin(), common.end());
    more.insert(more.end(), {"-o", path(to)});
    const ProgramRun result = planOf("1F1B", more);
    EXPECT_EQ(result.exitCode, 0) << result.err;
    return result.out.substr(0, result.out.find("\nwrote "));
  };
  const std::vector<std::string> skews = {"--skew", "a=0ms", "--skew", "b=-5ms,20ppm"};
  const std::string right = written("right/", {});
  for (const char* const to : {"skewed/", "skewed.json", "skewed.sqlite"}) {
    EXPECT_EQ(written(to, skews), right) << "the chart and the figures are those of the plan";
    const json expected = summaryOf(path("right"));
    const json summary = summaryOf(path(to));
    // Right to the nanosecond or two of a reading.
    for (const char* const key : {"bubble_ratio", "schedule_efficiency"}) {
      if (!expected.contains(key)) continue;
      EXPECT_NEAR(summary.at(key), expected.at(key), 1e-6) << to << " " << key;
    }
    EXPECT_EQ(summary.at("steps").size(), 5U);
    const json info = json::parse(run({"info", path(to), "--json"}).out);
    EXPECT_EQ(info.at("clock").at("aligned"), true) << to;
    const json asLogged = json::parse(run({path(to), "--align", "none", "--json"}).out);
    EXPECT_GT(std::abs(asLogged.at("bubble_ratio").get<double>() -
                       expected.at("bubble_ratio").get<double>()),
              0.004)
        << to;
  }
}

TEST_F(PlanCommand, EveryFormatOfProfilesIsWritten) {
  const std::vector<std::string> profiles = {path("a.json"), path("a.pftrace"), path("a.sqlite"),
                                             path("a.CSV")};
  std::vector<std::string> outputs;
  for (const std::string& profile : profiles) outputs.insert(outputs.end(), {"-o", profile});
  const ProgramRun result = planOf("ZB-H1", outputs);
  EXPECT_EQ(result.exitCode, 0) << result.err;
  for (const char* name : {"a.pftrace", "a.sqlite"}) {
    EXPECT_EQ(summaryOf(path(name)), summaryOf(path("a.json"))) << name;
  }
  // The table is that of the run, a line per event; --csv writes the schedule.
  EXPECT_THAT(contents(path("a.CSV")), testing::StartsWith("rank,lane,kind,"));
  run({path("a.json"), "-q", "-o", path("b.csv")});
  EXPECT_EQ(contents(path("a.CSV")), contents(path("b.csv")));
}

TEST_F(PlanCommand, PictureShowsJobsAndIdleTime) {
  EXPECT_EQ(planOf("DualPipe", {"-o", path("my picture.svg")}).exitCode, 0);
  const std::string svg = contents(path("my picture.svg"));
  EXPECT_THAT(svg, AllOf(HasSubstr("<svg"), HasSubstr("DualPipe, 4 ranks, 8 micro-batches"),
                         HasSubstr("length 26.00 ms"), HasSubstr("<path"), HasSubstr(">bubbles:<"),
                         HasSubstr(">drain<"), HasSubstr(">rank 3<"), HasSubstr(">0F3 3B5<")));
}

TEST_F(PlanCommand, ScheduleFilesReadBackToTheSamePlan) {
  for (const std::string& name : scheduleNames()) {
    EXPECT_EQ(planOf(name, {"--csv", path("plan.csv")}).exitCode, 0);
    const ProgramRun printed = planOf(name, {"--csv", "-"});
    EXPECT_EQ(printed.out, contents(path("plan.csv")));
    const ProgramRun again = plan({"--schedule-file", path("plan.csv"), "--json"});
    ASSERT_EQ(again.exitCode, 0) << name << again.err;
    const json fromFile = json::parse(again.out);
    const json built = jsonOf(name);
    EXPECT_EQ(fromFile.at("schedule").at("actions"), built.at("schedule").at("actions"));
    EXPECT_EQ(fromFile.at("length_ns"), built.at("length_ns")) << name;
    EXPECT_EQ(peaksOf(fromFile), peaksOf(built)) << name;
  }
}

TEST_F(PlanCommand, EveryFileThatWasWrittenIsNamed) {
  const std::vector<std::string> outputs = {"-o",          path("logs/"),  "-o",    path("a.svg"),
                                            "-o",          path("a.json"), "--csv", path("a.csv"),
                                            "--costs-out", path("c.json")};
  const std::string lines = "wrote " + path("logs/") + ": logs of 4 ranks\nwrote " + path("a.svg") +
                            "\nwrote " + path("a.json") +
                            ": 64 jobs, 0 transfers, 15 bubbles, 56 arrows, 64 counter samples\n" +
                            "wrote " + path("a.csv") + "\nwrote " + path("c.json") + "\n";
  const ProgramRun drawn = planOf("1F1B", outputs);
  EXPECT_EQ(drawn.out, planOf("1F1B").out + "\n" + lines);
  // Where another result has standard output, the lines go to standard error.
  std::vector<std::string> withJson = outputs;
  withJson.emplace_back("--json");
  const ProgramRun asJson = planOf("1F1B", withJson);
  EXPECT_TRUE(json::accept(asJson.out));
  EXPECT_EQ(asJson.err, lines);
  const ProgramRun schedule = planOf("1F1B", {"--csv", "-", "-o", path("a.svg")});
  EXPECT_EQ(schedule.out, contents(path("a.csv")));
  EXPECT_EQ(schedule.err, "wrote " + path("a.svg") + "\n");
}

TEST_F(PlanCommand, DashIsStandardInput) {
  const std::string csv = "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n";
  const ProgramRun result = plan({"--schedule-file", "-"}, {.input = csv});
  EXPECT_EQ(result.exitCode, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("rank 1 -- F0 B0=== F1 B1=== -- --\n"));
  const ProgramRun costs =
      plan({"--schedule", "1F1B", "--ranks", "2", "--micro-batches", "2", "--costs", "-", "--json"},
           {.input = R"({"forward_ms": 7})"});
  EXPECT_EQ(json::parse(costs.out).at("costs").at("forward_ms"), 7);
}

TEST_F(PlanCommand, PlanOfFewerRanksReplacesAllLogsOfThePlanBefore) {
  EXPECT_EQ(planOf("1F1B", {"-o", path("plan/")}).exitCode, 0);
  EXPECT_EQ(plan({"--schedule", "1F1B", "--ranks", "2", "--micro-batches", "2", "-o", path("plan")})
                .exitCode,
            0);
  EXPECT_FALSE(fs::exists(path("plan/workerlog.2")));
  EXPECT_EQ(summaryOf(path("plan")).at("ranks").size(), 2U);
}

TEST_F(PlanCommand, LogsOfARunAreNotOverwritten) {
  const std::string folder = logs(sample());
  std::string log = contents(folder + "/workerlog.3");
  const std::size_t clock = log.find("clock = simulated");
  ASSERT_NE(clock, std::string::npos);
  log.replace(clock, std::string("clock = simulated").size(), "clock = realtime");
  write("my logs/workerlog.3", log);
  expectError(planOf("1F1B", {"-o", folder}), folder, "choose another folder");
  EXPECT_EQ(contents(folder + "/workerlog.3"), log);
}

}  // namespace
}  // namespace pipetrace
