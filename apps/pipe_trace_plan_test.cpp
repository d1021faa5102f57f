#include <nlohmann/json.hpp>

#include "apps/pipe_trace_fixture.h"
#include "schedule/build_schedule.h"
#include "schedule/paddle_job_list.h"

namespace pipetrace {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

class PlanCommand : public PipeTrace {
 protected:
  static ProgramRun plan(std::vector<std::string> arguments, const ProgramSetting& setting = {}) {
    arguments.insert(arguments.begin(), "plan");
    return run(arguments, setting);
  }

  /// A plan for 4 ranks and 8 micro-batches, the size of the papers' pictures.
  static ProgramRun planOf(const std::string& name, std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"--schedule", name, "--stages", "4", "--micro-batches", "8"});
    return plan(more);
  }

  static json jsonOf(const std::string& name, std::vector<std::string> more = {}) {
    more.emplace_back("--json");
    const ProgramRun result = planOf(name, more);
    EXPECT_EQ(result.exitCode, 0) << result.err;
    return json::parse(result.out);
  }

  static json summaryOf(const std::string& input) {
    const ProgramRun result = run({input, "--json", "--strict"});
    EXPECT_EQ(result.exitCode, 0) << result.err;
    return json::parse(result.out);
  }

  static std::vector<int> peaksOf(const json& plan) {
    std::vector<int> peaks;
    for (const json& rank : plan.at("ranks")) peaks.push_back(rank.at("peak_activations"));
    return peaks;
  }
};

// What it prints.

TEST_F(PlanCommand, WithoutTimesTheChartIsThePapersPicture) {
  const ProgramRun result = planOf("1F1B");
  EXPECT_EQ(result.exitCode, 0);
  EXPECT_THAT(result.err, IsEmpty());
  EXPECT_THAT(
      result.out,
      StartsWith(
          "1F1B, 4 ranks, 8 micro-batches\n"
          "       |0             |5 ms          |10 ms         |15 ms         |20 ms         "
          "|25 ms         |30 ms\n"
          "rank 0 F0 F1 F2 F3 -- -- -- -- -- -- B0=== F4 B1=== F5 B2=== F6 B3=== F7 B4=== -- "
          "B5=== -- B6=== -- B7===\n"
          "rank 1 -- F0 F1 F2 -- -- -- -- B0=== F3 B1=== F4 B2=== F5 B3=== F6 B4=== F7 B5=== -- "
          "B6=== -- B7=== -- --\n"
          "rank 2 -- -- F0 F1 -- -- B0=== F2 B1=== F3 B2=== F4 B3=== F5 B4=== F6 B5=== F7 B6=== "
          "-- B7=== -- -- -- --\n"
          "rank 3 -- -- -- F0 B0=== F1 B1=== F2 B2=== F3 B3=== F4 B4=== F5 B5=== F6 B6=== F7 "
          "B7=== -- -- -- -- -- --\n"
          "F forward, B backward, - idle\n"
          "one cell is 1.00 ms\n\n"));
}

TEST_F(PlanCommand, FiguresStandUnderTheChart) {
  const std::string out = planOf("1F1B").out;
  EXPECT_THAT(out, HasSubstr("\nlength 33.0 ms, bubble ratio 0.2727, span bubble 0.2727\n"));
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_THAT(out, HasSubstr("\n     " + std::to_string(rank) +
                               "  24.0 ms  9.00 ms        0.2727                 " +
                               std::to_string(4 - rank) + "\n"));
  }
  EXPECT_THAT(out, HasSubstr("critical path: rank 0 0F0"));
  EXPECT_THAT(out, HasSubstr("theory: length of a step 33.0 ms, peak activations 4 3 2 1\n"));
  EXPECT_THAT(out, Not(HasSubstr("peak memory")));
}

TEST_F(PlanCommand, MemoryHasAColumnWhereItIsKnown) {
  const std::string out = planOf("1F1B", {"--activation-gb", "0.5", "--weights-gb", "2"}).out;
  EXPECT_THAT(out, HasSubstr("peak memory"));
  EXPECT_THAT(out, HasSubstr("4.00 GB"));  // rank 0: 2 + 4 * 0.5
  EXPECT_THAT(out, HasSubstr("2.50 GB"));  // rank 3
}

TEST_F(PlanCommand, WidthScalesTheChart) {
  const std::string out = planOf("1F1B", {"--width", "73"}).out;
  EXPECT_THAT(out, HasSubstr("rank 0 F0F1F2F3------------B0= F4B1= F5"));
  EXPECT_THAT(out, HasSubstr("one column is 500 us"));
}

TEST_F(PlanCommand, JsonHasAllFigures) {
  const json plan = jsonOf("1f1b", {"--activation-gb", "1"});
  EXPECT_EQ(plan.at("schedule").at("name"), "1F1B");
  EXPECT_EQ(plan.at("schedule").at("ranks"), 4);
  EXPECT_EQ(plan.at("schedule").at("stages"), 4);
  EXPECT_EQ(plan.at("schedule").at("micro_batches"), 8);
  EXPECT_EQ(plan.at("schedule").at("bidirectional"), false);
  EXPECT_EQ(plan.at("schedule").at("updates_every"), 0);
  EXPECT_EQ(plan.at("schedule").at("actions")[3][1], "3B0");
  EXPECT_EQ(plan.at("costs").at("forward_ms"), 1);
  EXPECT_EQ(plan.at("steps"), 1);
  EXPECT_EQ(plan.at("length_ns"), 33'000'000);
  EXPECT_NEAR(plan.at("bubble_ratio"), 3.0 / 11, 1e-12);
  EXPECT_NEAR(plan.at("span_bubble"), 3.0 / 11, 1e-12);
  const json& rank = plan.at("ranks")[1];
  EXPECT_EQ(rank.at("rank"), 1);
  EXPECT_EQ(rank.at("stages"), json::array({1}));
  EXPECT_EQ(rank.at("busy_ns"), 24'000'000);
  EXPECT_EQ(rank.at("idle_ns"), 9'000'000);
  EXPECT_EQ(rank.at("peak_activations"), 3);
  EXPECT_EQ(rank.at("peak_memory_bytes"), 3'000'000'000);
  EXPECT_EQ(rank.at("weight_versions"), 1);
  EXPECT_EQ(plan.at("closed_form").at("length_ns"), 33'000'000);
  EXPECT_EQ(plan.at("closed_form").at("peak_activations"), json::array({4, 3, 2, 1}));
  EXPECT_EQ(plan.at("problems"), json::array());
}

TEST_F(PlanCommand, CriticalPathInJsonLeavesNoTimeOut) {
  const json plan = jsonOf("1F1B", {"--forward-ms", "3", "--transfer-ms", "0.5", "--lr-ms", "0.1",
                                    "--optimizer-ms", "2"});
  Nanoseconds end = 0;
  for (const json& link : plan.at("critical_path")) {
    EXPECT_EQ(link.at("begin_ns").get<Nanoseconds>(), end);
    end = link.at("end_ns");
    EXPECT_TRUE(link.contains("kind") && link.contains("rank") && link.contains("action") &&
                link.contains("reason"));
  }
  EXPECT_EQ(end, plan.at("length_ns").get<Nanoseconds>());
  EXPECT_EQ(plan.at("closed_form"), nullptr);  // transfers are not free
  EXPECT_EQ(plan.at("ranks")[0].at("peak_memory_bytes"), nullptr);
}

TEST_F(PlanCommand, KnownFiguresOfTheSchedules) {
  // ../shared/data/README.md and the papers: F = I = W = 1, B = 2, free transfers.
  struct Known {
    const char* name;
    Nanoseconds length;
    std::vector<int> peaks;
  };
  const std::vector<Known> list = {{"FThenB", 33, {8, 8, 8, 8}},
                                   {"GPipe", 33, {8, 8, 8, 8}},
                                   {"1F1B", 33, {4, 3, 2, 1}},
                                   {"Eager1F1B", 33, {7, 5, 3, 1}},
                                   {"Interleaved1F1B", 57, {11, 9, 7, 5}},
                                   {"LoopedBFS", 57, {16, 16, 16, 16}},
                                   {"ZB-H1", 27, {4, 4, 4, 4}},
                                   {"InterleavedZeroBubble", 51, {8, 8, 8, 8}},
                                   {"DualPipe", 26, {5, 5, 5, 5}},
                                   {"DualPipeV", 54, {9, 9, 9, 9}}};
  for (const Known& known : list) {
    const json plan = jsonOf(known.name);
    EXPECT_EQ(plan.at("length_ns"), known.length * kNsPerMs) << known.name;
    EXPECT_EQ(peaksOf(plan), known.peaks) << known.name;
  }
}

TEST_F(PlanCommand, AsynchronousPlansTellTheirWeightVersions) {
  const json plan = jsonOf("PipeDream");
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(plan.at("ranks")[rank].at("weight_versions"), 4 - rank);
    EXPECT_EQ(plan.at("ranks")[rank].at("weight_distance"), 3 - rank);
  }
  EXPECT_THAT(planOf("PipeDream").out,
              AllOf(HasSubstr("weight versions"), HasSubstr("weight distance")));
  EXPECT_EQ(jsonOf("1F1B").at("ranks")[0].at("weight_distance"), 0);
}

TEST_F(PlanCommand, VersionsAndDistanceHaveLimits) {
  EXPECT_EQ(planOf("PipeDream", {"--check", "--most-versions", "4", "--most-distance", "3"}).out,
            "PipeDream, 4 ranks, 8 micro-batches: nothing is wrong\n");
  const ProgramRun versions = planOf("PipeDream", {"--check", "--most-versions", "3"});
  EXPECT_EQ(versions.exitCode, 1);
  EXPECT_THAT(versions.out, AllOf(HasSubstr("stage 0 keeps 4"), Not(HasSubstr("stage 1"))));
  const ProgramRun distance = planOf("PipeDream", {"--check", "--most-distance", "2"});
  EXPECT_EQ(distance.exitCode, 1);
  EXPECT_THAT(distance.out, AllOf(HasSubstr("3 updates out of date"), Not(HasSubstr("stage 1"))));
}

TEST_F(PlanCommand, AutoIsKnownHoweverItIsWritten) {
  const std::vector<std::string> times = {"--forward-ms", "1,1,5,1"};
  EXPECT_EQ(planOf("a-uto", times).out, planOf("auto", times).out);
  EXPECT_NE(planOf("auto", times).out, planOf("auto").out);
}

TEST_F(PlanCommand, PlanThatTakesNoTimeHasItsFigures) {
  const ProgramRun result = planOf("1F1B", {"--forward-ms", "0"});
  EXPECT_EQ(result.exitCode, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("takes no time"), HasSubstr("peak activations")));
}

TEST_F(PlanCommand, ListNamesEverySchedule) {
  const ProgramRun result = plan({"--list"});
  EXPECT_EQ(result.exitCode, 0);
  for (const std::string& name : scheduleNames()) EXPECT_THAT(result.out, HasSubstr(name));
  EXPECT_THAT(result.out, HasSubstr("also called: "));
}

TEST_F(PlanCommand, JobListIsPaddlePaddles) {
  const ProgramRun result =
      plan({"--schedule", "1F1B", "--stages", "2", "--micro-batches", "2", "--job-list"});
  EXPECT_EQ(result.exitCode, 0) << result.err;
  EXPECT_EQ(result.out,
            "rank 0: lr(0) forward(0) forward(1) backward(0) backward(1) optimizer(0)\n"
            "rank 1: lr(0) forward(0) backward(0) forward(1) backward(1) optimizer(0)\n");
}

TEST_F(PlanCommand, JobListsOfOtherPassesHaveOptions) {
  const std::vector<std::string> small = {"--schedule",      "1F1B", "--stages",  "2",
                                          "--micro-batches", "3",    "--job-list"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), small.begin(), small.end());
    return plan(more).out;
  };
  const Schedule schedule = buildSchedule("1F1B", {.ranks = 2, .microBatches = 3});
  const auto expected = [&](const PaddleJobListOptions& options) {
    return "rank 0: " + toText(paddleJobList(schedule, 0, options)) +
           "\nrank 1: " + toText(paddleJobList(schedule, 1, options)) + "\n";
  };
  EXPECT_EQ(with({"--backward-parts", "2", "--forward-parts", "3"}),
            expected({.backwardParts = 2, .forwardParts = 3}));
  EXPECT_THAT(with({"--backward-parts", "2"}), HasSubstr("backward(chunk1)"));
  EXPECT_EQ(with({"--transfer-jobs"}), expected({.transfers = true}));
  EXPECT_THAT(with({"--transfer-jobs"}), HasSubstr("recv_forward"));
}

TEST_F(PlanCommand, ChunksAndStepsCount) {
  EXPECT_EQ(jsonOf("Interleaved1F1B", {"--chunks", "3"}).at("schedule").at("stages"), 12);
  const json plan = jsonOf("1F1B", {"--steps", "3", "--optimizer-ms", "1"});
  EXPECT_EQ(plan.at("steps"), 3);
  EXPECT_GT(plan.at("length_ns").get<Nanoseconds>(), 3 * 24 * kNsPerMs);
}

TEST_F(PlanCommand, TransfersCanBeWrittenIntoThePlan) {
  const ProgramRun result = planOf("1F1B", {"--transfers", "2", "--csv", "-"});
  EXPECT_EQ(result.exitCode, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("0SEND_F0"), HasSubstr("1RECV_F0")));
  EXPECT_EQ(jsonOf("1F1B", {"--transfers", "2"}).at("length_ns"), 33'000'000);
  EXPECT_THAT(planOf("1F1B", {"--transfers", "0", "--csv", "-"}).out,
              HasSubstr("\n1RECV_F0,1F0,1SEND_F0,1RECV_F1,1F1"));
}

// Costs.

TEST_F(PlanCommand, TimesPerStageAreGivenWithCommas) {
  const json plan = jsonOf("1F1B", {"--forward-ms", "1,1,2.5,1", "--backward-ms", "2"});
  EXPECT_EQ(plan.at("ranks")[2].at("busy_ns"), 8 * (2'500'000 + 2'000'000));
  EXPECT_EQ(plan.at("ranks")[1].at("busy_ns"), 8 * 3'000'000);
  EXPECT_EQ(plan.at("closed_form"), nullptr);  // it is for equal stages
}

TEST_F(PlanCommand, CostsFileSaysTheSameAsFlags) {
  write("my costs.json", R"({"forward_ms": 10, "backward_ms": [20, 21, 22, 23],
                            "transfer_ms": 1.5, "activation_bytes": 500000000})");
  const ProgramRun fromFile = planOf("1F1B", {"--costs", path("my costs.json")});
  EXPECT_EQ(fromFile.exitCode, 0) << fromFile.err;
  EXPECT_EQ(fromFile.out, planOf("1F1B", {"--forward-ms", "10", "--backward-ms", "20,21,22,23",
                                          "--transfer-ms", "1.5", "--activation-gb", "0.5"})
                              .out);
  EXPECT_EQ(planOf("1F1B", {"--costs", path("my costs.json"), "--costs-out", path("again.json")})
                .exitCode,
            0);
  EXPECT_EQ(planOf("1F1B", {"--costs", path("again.json")}).out, fromFile.out);
}

TEST_F(PlanCommand, CostsOfARunAreItsMedians) {
  const std::string folder = logs(sample(3));
  const json plan = jsonOf("1F1B", {"--costs-from", folder});
  EXPECT_EQ(plan.at("costs").at("forward_ms"), 10);
  EXPECT_EQ(plan.at("costs").at("backward_ms"), 20);
  EXPECT_EQ(plan.at("costs").at("transfer_ms"), 1);
  EXPECT_EQ(plan.at("costs").at("optimizer_ms"), 2);
  EXPECT_EQ(plan.at("length_ns").get<Nanoseconds>(), sample(1).length);
  // A run that did not split its backward passes still says how long they are.
  EXPECT_EQ(jsonOf("ZB-H1", {"--costs-from", folder}).at("costs").at("backward_weight_ms"), 10);
}

TEST_F(PlanCommand, LimitIsToldWithRankAndCell) {
  const std::vector<std::string> limit = {"--activation-gb", "1", "--limit", "3"};
  const ProgramRun drawn = planOf("1F1B", limit);
  EXPECT_EQ(drawn.exitCode, 0);
  EXPECT_THAT(drawn.err, AllOf(HasSubstr("rank 0, cell 3"), Not(HasSubstr("rank 1"))));
  EXPECT_THAT(drawn.out, StartsWith("1F1B"));
  std::vector<std::string> checked = limit;
  checked.emplace_back("--check");
  const ProgramRun found = planOf("1F1B", checked);
  EXPECT_EQ(found.exitCode, 1);
  EXPECT_THAT(found.out, HasSubstr("rank 0, cell 3"));
  EXPECT_EQ(planOf("1F1B", {"--activation-gb", "1", "--limit", "4", "--check"}).exitCode, 0);
  EXPECT_EQ(jsonOf("1F1B", limit).at("problems")[0].at("cell"), 3);
}

TEST_F(PlanCommand, AutoKeepsToTheLimitAndIsNoLongerThanTheOthers) {
  const std::vector<std::pair<int, const char*>> cases = {{1, ""}, {4, "ZB-H1"}, {7, "ZB-H2"}};
  for (const auto& [limit, best] : cases) {
    const std::vector<std::string> memory = {"--activation-gb", "1", "--limit",
                                             std::to_string(limit)};
    const json plan = jsonOf("auto", memory);
    EXPECT_EQ(plan.at("problems"), json::array());
    for (const json& rank : plan.at("ranks")) {
      EXPECT_LE(rank.at("peak_memory_bytes").get<std::int64_t>(), limit * 1'000'000'000LL);
    }
    if (limit == 1) continue;  // none of the others keeps to it
    EXPECT_LE(plan.at("length_ns").get<Nanoseconds>(),
              jsonOf(best, memory).at("length_ns").get<Nanoseconds>());
  }
  EXPECT_EQ(planOf("auto", {"--activation-gb", "2", "--limit", "1"}).exitCode, 2);
}

// Files.

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

TEST_F(PlanCommand, ProfileIsThatOfTheLogs) {
  const ProgramRun result =
      planOf("1F1B", {"--transfer-ms", "0.5", "-o", path("logs/"), "-o", path("plan.json")});
  EXPECT_EQ(result.exitCode, 0) << result.err;
  EXPECT_EQ(summaryOf(path("logs")), summaryOf(path("plan.json")));
}

TEST_F(PlanCommand, PictureShowsJobsAndIdleTime) {
  EXPECT_EQ(planOf("DualPipe", {"-o", path("my picture.svg")}).exitCode, 0);
  const std::string svg = contents(path("my picture.svg"));
  EXPECT_THAT(svg, AllOf(HasSubstr("<svg"), HasSubstr("DualPipe, 4 ranks, 8 micro-batches"),
                         HasSubstr("length 26.0 ms"), HasSubstr("pattern"), HasSubstr(">bubble<"),
                         HasSubstr(">rank 3<"), HasSubstr(">3 + 5<")));
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

TEST_F(PlanCommand, DashIsStandardInput) {
  const std::string csv = "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n";
  const ProgramRun result = plan({"--schedule-file", "-"}, {.input = csv});
  EXPECT_EQ(result.exitCode, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("rank 1 -- F0 B0=== F1 B1=== -- --\n"));
  const ProgramRun costs = plan(
      {"--schedule", "1F1B", "--stages", "2", "--micro-batches", "2", "--costs", "-", "--json"},
      {.input = R"({"forward_ms": 7})"});
  EXPECT_EQ(json::parse(costs.out).at("costs").at("forward_ms"), 7);
}

TEST_F(PlanCommand, PlanOfFewerRanksReplacesAllLogsOfThePlanBefore) {
  EXPECT_EQ(planOf("1F1B", {"-o", path("plan/")}).exitCode, 0);
  EXPECT_EQ(
      plan({"--schedule", "1F1B", "--stages", "2", "--micro-batches", "2", "-o", path("plan")})
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

// What is wrong with a plan.

TEST_F(PlanCommand, CheckOfASoundPlanSaysSo) {
  const ProgramRun result = planOf("1F1B", {"--check"});
  EXPECT_EQ(result.exitCode, 0);
  EXPECT_EQ(result.out, "1F1B, 4 ranks, 8 micro-batches: nothing is wrong\n");
}

TEST_F(PlanCommand, CheckTellsAllProblemsAndExitsWith1) {
  write("bad.csv", "0F0,0F0,0B0,0B1\n1B0,1F0,1F1,1B1\n");
  const ProgramRun result = plan({"--schedule-file", path("bad.csv"), "--check"});
  EXPECT_EQ(result.exitCode, 1);
  EXPECT_THAT(result.err, IsEmpty());
  EXPECT_THAT(result.out, AllOf(HasSubstr("rank 0, cell 1: 0F0 is done already"), HasSubstr("0F1"),
                                HasSubstr("rank 1, cell 0: 1B0 comes before")));
  const ProgramRun asJson = plan({"--schedule-file", path("bad.csv"), "--check", "--json"});
  EXPECT_EQ(asJson.exitCode, 1);
  const json report = json::parse(asJson.out);
  EXPECT_GE(report.at("problems").size(), 3U);
  EXPECT_FALSE(report.contains("length_ns"));
}

TEST_F(PlanCommand, CellThatCannotBeReadHidesNothingElse) {
  write("bad.csv", "0F0,0F0,0F0x,0B0\n1F0\n");
  const ProgramRun result = plan({"--schedule-file", path("bad.csv"), "--check"});
  EXPECT_EQ(result.exitCode, 1);
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("line 1:9: rank 0, cell 2: \"0F0x\" is no action"),
                    HasSubstr("rank 0, cell 1: 0F0 is done already"), HasSubstr("1B0 is missing")));
  const ProgramRun asJson = plan({"--schedule-file", path("bad.csv"), "--check", "--json"});
  EXPECT_EQ(asJson.exitCode, 1);
  const json report = json::parse(asJson.out);
  EXPECT_EQ(report.at("schedule").at("actions")[0], json::array({"0F0", "0F0", nullptr, "0B0"}));
  const json& problem = report.at("problems")[0];
  EXPECT_EQ(problem.at("rank"), 0);
  EXPECT_EQ(problem.at("cell"), 2);
  EXPECT_EQ(problem.at("line"), 1);
  EXPECT_EQ(problem.at("column"), 9);
  EXPECT_GE(report.at("problems").size(), 3U);
}

TEST_F(PlanCommand, FileWithoutItsLastRankIsNotOfTheSizeThatWasAskedFor) {
  write("short.csv", "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n");
  const auto file = [this](std::vector<std::string> more) {
    more.insert(more.begin(), {"--schedule-file", path("short.csv")});
    return plan(more);
  };
  const ProgramRun checked = file({"--check", "--stages", "3", "--micro-batches", "2"});
  EXPECT_EQ(checked.exitCode, 1);
  EXPECT_EQ(checked.out, "rank 2 is missing: the plan has 2 ranks, and 3 were asked for\n");
  const ProgramRun batches = file({"--check", "--stages", "2", "--micro-batches", "3"});
  EXPECT_EQ(batches.exitCode, 1);
  EXPECT_THAT(batches.out, HasSubstr("micro-batch 2 is missing"));
  EXPECT_EQ(file({"--check", "--stages", "2", "--micro-batches", "2"}).exitCode, 0);
  EXPECT_THAT(file({"--stages", "3"}).err, HasSubstr("rank 2 is missing"));
}

TEST_F(PlanCommand, PlanThatCannotRunIsAnErrorWithoutCheck) {
  write("bad.csv", "0B0,0F0\n");
  expectError(plan({"--schedule-file", path("bad.csv")}), "rank 0, cell 0", "cannot run");
}

TEST_F(PlanCommand, BuffersDecideAboutDeadlock) {
  EXPECT_EQ(planOf("1F1B", {"--check", "--buffers", "unbounded"}).exitCode, 0);
  EXPECT_EQ(planOf("1F1B", {"--check", "--buffers", "4"}).exitCode, 0);
  const ProgramRun blocking = planOf("1F1B", {"--check", "--buffers", "blocking"});
  EXPECT_EQ(blocking.exitCode, 1);
  EXPECT_THAT(blocking.out, AllOf(HasSubstr("deadlock"), HasSubstr("waits for")));
}

// What is wrong on the command line.

TEST_F(PlanCommand, HelpTellsEveryOptionAndExitCode) {
  const ProgramRun help = plan({"--help"});
  EXPECT_EQ(help.exitCode, 0);
  EXPECT_THAT(help.err, IsEmpty());
  for (const char* word : {"--schedule ",
                           "--schedule-file",
                           "--stages",
                           "--micro-batches",
                           "--chunks",
                           "--list",
                           "--costs ",
                           "--costs-from",
                           "--costs-out",
                           "--forward-ms",
                           "--backward-ms",
                           "--backward-input-ms",
                           "--backward-weight-ms",
                           "--fused-ms",
                           "--transfer-ms",
                           "--lr-ms",
                           "--optimizer-ms",
                           "--bandwidth-gbs",
                           "--message-mb",
                           "--activation-gb",
                           "--limit",
                           "--steps",
                           "--csv",
                           "--output",
                           "--json",
                           "--job-list",
                           "--check",
                           "--buffers",
                           "--most-versions",
                           "--most-distance",
                           "--backward-parts",
                           "--forward-parts",
                           "--transfer-jobs",
                           "--width",
                           "--transfers",
                           "virtual stage",
                           "Exit codes",
                           "Examples"}) {
    EXPECT_THAT(help.out, HasSubstr(word));
  }
  EXPECT_THAT(help.out, Not(HasSubstr("Excludes")));
  std::istringstream lines(help.out);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100U) << line;
  EXPECT_THAT(run({"--help"}).out,
              AllOf(HasSubstr("pipe-trace plan"), HasSubstr("pipe-trace show")));
}

TEST_F(PlanCommand, WithoutAScheduleTheWaysToGiveOneAreTold) {
  expectError(plan({}), "no schedule", "--schedule NAME, --schedule-file FILE.csv or --list");
}

TEST_F(PlanCommand, FolderCalledLikeACommandIsReadByItsPath) {
  logs(sample(), "plan");
  const auto fromInside = [this] { ASSERT_EQ(::chdir(folder_.c_str()), 0); };
  EXPECT_THAT(run({"./plan"}, {.inChild = fromInside}).out, StartsWith("4 ranks, 1 step"));
  EXPECT_THAT(run({"plan/"}, {.inChild = fromInside}).out, StartsWith("4 ranks, 1 step"));
  expectError(run({"plan"}, {.inChild = fromInside}), "no schedule", "write ./plan");
  // Only the first argument is a command.
  logs(sample(), "show");
  EXPECT_EQ(run({"--json", "show"}, {.inChild = fromInside}).exitCode, 0);
}

TEST_F(PlanCommand, WrongSizesAreErrors) {
  expectError(plan({"--schedule", "1F1B"}), "--stages P and --micro-batches M", "both are missing");
  expectError(plan({"--schedule", "1F1B", "--stages", "4"}), "--micro-batches is missing", "1F1B");
  expectError(plan({"--schedule", "1F1B", "--micro-batches", "4"}), "--stages is missing", "1F1B");
  for (const char* size : {"0", "-1", "4.5", "four", "", "99999999999"}) {
    expectError(plan({"--schedule", "1F1B", "--micro-batches", "4", "--stages", size}), "--stages",
                "--help");
  }
  expectError(plan({"--stages", "4"}), "no schedule", "--schedule NAME");
  expectError(plan({"--schedule", "1F1B", "--stages", "4096", "--micro-batches", "1000000"}),
              "4096 ranks", "take fewer");
  expectError(planOf("1F1B", {"--chunks", "3"}), "1F1B", "chunk");
  expectError(planOf("1F1B", {"--steps", "0"}), "--steps", "--help");
}

TEST_F(PlanCommand, UnknownScheduleIsAnErrorWithThoseThatAreKnown) {
  const ProgramRun result = planOf("1F2B");
  expectError(result, "1F2B", "choose one of");
  for (const std::string& name : scheduleNames()) EXPECT_THAT(result.err, HasSubstr(name));
  expectError(planOf(""), "--schedule", "empty");
}

TEST_F(PlanCommand, ContradictingOptionsAreErrors) {
  write("p.csv", "0F0,0B0\n");
  write("c.json", "{}");
  const std::string file = path("p.csv");
  const std::string costs = path("c.json");
  const std::vector<std::vector<std::string>> cases = {
      {"--schedule", "1F1B", "--schedule-file", file},
      {"--schedule-file", file, "--chunks", "2"},
      {"--list", "--schedule", "1F1B"},
      {"--schedule-file", file, "--costs", costs, "--forward-ms", "1"},
      {"--schedule-file", file, "--costs", costs, "--activation-gb", "1"},
      {"--schedule-file", file, "--costs", costs, "--costs-from", file},
      {"--schedule-file", file, "--costs-from", file, "--backward-ms", "1"},
      {"--schedule-file", file, "--bandwidth-gbs", "1"},
      {"--schedule-file", file, "--weights-gb", "1"},
      {"--schedule-file", file, "--buffers", "1"},
      {"--schedule-file", file, "--check", "--job-list"},
      {"--schedule-file", file, "--check", "-o", path("x.svg")},
      {"--schedule-file", file, "--check", "--csv", path("x.csv")},
      {"--schedule-file", file, "--check", "--costs-out", path("x.json")},
      {"--schedule-file", file, "--backward-parts", "2"},
      {"--schedule-file", file, "--transfer-jobs"},
      {"--schedule-file", file, "--json", "--job-list"},
      {"--schedule-file", file, "--json", "--csv", "-"},
      {"--schedule-file", file, "--csv", "-", "--costs-out", "-"},
      {"--schedule-file", "-", "--costs", "-"},
      {"--schedule-file", file, "--limit", "1"},
      {"--schedule-file", file, "--colour"},
      {"--schedule-file", file, "leftover"},
  };
  for (const auto& arguments : cases) {
    const ProgramRun result = plan(arguments);
    expectError(result, "pipe-trace plan", arguments.back() == "-" ? "standard" : "");
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'),
              result.err.find("--help") == std::string::npos ? 1 : 2)
        << result.err;
  }
}

TEST_F(PlanCommand, NumbersThatAreNoneAreErrorsWithTheirOption) {
  for (const char* text : {"fast", "-1", "1e3", "1,,2", "1,", "99999999999999999999", "1 2"}) {
    expectError(planOf("1F1B", {std::string("--forward-ms=") + text}), "--forward-ms",
                "10 or 0.25");
  }
  expectError(planOf("1F1B", {"--forward-ms", "1,2,3"}), "costs for 3 stages", "has 4");
  expectError(planOf("1F1B", {"--activation-gb", "x"}), "--activation-gb", "GB");
  for (const char* bandwidth : {"0", "-1", "nan", "inf", "1e305"}) {
    expectError(planOf("1F1B", {"--message-mb", "1", std::string("--bandwidth-gbs=") + bandwidth}),
                "--bandwidth-gbs", "above 0");
  }
  for (const char* bandwidth : {"1e-300", "0.0000001"}) {
    expectError(planOf("1F1B", {"--message-mb", "1", "--bandwidth-gbs", bandwidth}),
                "1000000 bytes", "hours");
  }
  expectError(planOf("1F1B", {"--activation-gb", "1", "--weights-gb", "9000000"}),
              "--weights-gb 9000000", "too large: at most 9223");
  expectError(planOf("1F1B", {"--activation-gb", "1", "--limit", "0"}), "--limit 0", "no memory");
  expectError(planOf("1F1B", {"--check", "--buffers", "some"}), "--buffers some", "blocking");
  expectError(planOf("1F1B", {"--check", "--buffers", "0"}), "--buffers 0", "at least 1");
  expectError(planOf("1F1B", {"--transfers", "-1"}), "--transfers", "");
}

TEST_F(PlanCommand, WhatCannotBeReadIsAnError) {
  expectError(plan({"--schedule-file", path("none.csv")}), path("none.csv"), "No such file");
  expectError(plan({"--schedule-file", path("")}), "cannot read", "it is a folder");
  write("text.csv", "0F0garbage\n");
  expectError(plan({"--schedule-file", path("text.csv")}), path("text.csv") + ":1:1", "no action");
  write("empty.csv", "");
  expectError(plan({"--schedule-file", path("empty.csv")}), path("empty.csv"), "no actions");
  expectError(planOf("1F1B", {"--costs", path("none.json")}), path("none.json"), "No such file");
  write("costs.json", "{\"forward_ms\": 1,\n \"backward_ms\": }");
  expectError(planOf("1F1B", {"--costs", path("costs.json")}), path("costs.json"), "line 2");
  write("costs.json", R"({"forward": 1})");
  expectError(planOf("1F1B", {"--costs", path("costs.json")}), "forward is no cost", "forward_ms");
  write("costs.json", R"({"forward_ms": [1, 2]})");
  expectError(planOf("1F1B", {"--costs", path("costs.json")}), "2 stages", "has 4");
  expectError(planOf("1F1B", {"--costs-from", path("no logs")}), path("no logs"), "");
  expectError(plan({"--schedule", "1F1B", "--stages", "3", "--micro-batches", "4", "--costs-from",
                    logs(sample(2))}),
              "4 stages", "has 3");
}

// What is wrong while writing.

TEST_F(PlanCommand, UnsupportedOrRepeatedOutputsAreErrors) {
  for (const char* name : {"plan.png", "plan", "plan.svg.bak"}) {
    expectError(planOf("1F1B", {"-o", path(name)}), name, "NAME.svg");
  }
  expectError(planOf("1F1B", {"-o", path("a.svg"), "-o", path("./a.svg")}), "a.svg", "twice");
  expectError(planOf("1F1B", {"-o", path("a.json"), "--csv", path("a.json")}), "a.json", "twice");
  expectError(planOf("1F1B", {"-o", path("no folder/a.svg")}), path("no folder/a.svg"), "folder");
  write("file", "");
  expectError(planOf("1F1B", {"-o", path("file") + "/"}), path("file"), "folder");
  EXPECT_EQ(names(), std::vector<std::string>{"file"});
}

TEST_F(PlanCommand, WhenOneOutputFailsNoneAppears) {
  expectError(planOf("1F1B", {"-o", path("a.svg"), "--csv", path("b.csv"), "--costs-out",
                              path("no folder/c.json")}),
              path("no folder/c.json"), "folder");
  EXPECT_THAT(names(), IsEmpty());
}

TEST_F(PlanCommand, FullDeviceIsAnErrorAndAClosedPipeIsNone) {
  for (const char* result : {"--width=100", "--json", "--job-list", "--check", "--csv=-"}) {
    const std::vector<std::string> arguments = {"--schedule",      "1F1B", "--stages", "4",
                                                "--micro-batches", "8",    result};
    const ProgramRun full = plan(arguments, {.outFile = "/dev/full"});
    EXPECT_EQ(full.exitCode, 2) << result;
    EXPECT_THAT(full.err, HasSubstr("standard output"));
    const auto closePipe = [] {
      int ends[2];
      if (::pipe(ends) != 0) return;
      ::close(ends[0]);
      ::dup2(ends[1], STDOUT_FILENO);
    };
    EXPECT_EQ(plan(arguments, {.inChild = closePipe}).exitCode, 0) << result;
  }
}

}  // namespace
}  // namespace pipetrace
