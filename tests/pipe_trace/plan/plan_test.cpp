// The output of pipe-trace plan, and the costs that it uses.
#include "schedule/build_schedule.h"
#include "schedule/file/paddle_job_list.h"
#include "schedule/fingerprint.h"
#include "tests/pipe_trace/plan/plan_fixture.h"

namespace pipetrace {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

TEST_F(PlanCommand, WithoutTimesTheChartIsThePapersPicture) {
  const ProgramRun result = planOf("1F1B", {"--width", "106"});
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
          "F forward, B backward, - idle by the schedule\n"
          "one cell is 1.000 ms\n\n"));
}

TEST_F(PlanCommand, FiguresStandUnderTheChart) {
  const std::string out = planOf("1F1B").out;
  EXPECT_THAT(out, HasSubstr("\nlength 33.00 ms, bubble ratio 0.2727, span bubble 0.2727\n"));
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_THAT(out, HasSubstr("\n     " + std::to_string(rank) +
                               "  24.00 ms  9.000 ms        0.2727                 " +
                               std::to_string(4 - rank) + "\n"));
  }
  EXPECT_THAT(out, HasSubstr("critical path: rank 0 0F0"));
  EXPECT_THAT(out, HasSubstr("theory: length of a step 33.00 ms, peak activations 4 3 2 1\n"));
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
  EXPECT_THAT(out, HasSubstr("one column is 500.0 us"));
}

TEST_F(PlanCommand, EveryMicroBatchHasItsNumberAndNoLineIsTooWide) {
  const std::vector<std::string> arguments = {"plan", "--schedule",      "1F1B", "--ranks",
                                              "4",    "--micro-batches", "32"};
  const std::pair<const char*, std::size_t> widths[] = {{"60", 60},    {"200", 200}, {"", 100},
                                                        {"wide", 100}, {"-3", 100},  {"1", 20}};
  for (const auto& [columns, width] : widths) {
    const char* const given = columns;
    const std::string out =
        run(arguments, {.inChild = [given] { ::setenv("COLUMNS", given, 1); }}).out;
    if (width < 60) continue;  // the table of ranks is as wide as it is
    std::istringstream lines(out);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), width) << line;
    for (int i = 0; i < 32; ++i) EXPECT_THAT(out, HasSubstr("F" + std::to_string(i))) << columns;
    EXPECT_THAT(out, Not(HasSubstr("F=  "))) << columns;
  }
}

TEST_F(PlanCommand, LinesOfSeveralStepsAreNoWiderEither) {
  std::istringstream lines(planOf("1F1B", {"--steps", "8"}).out);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100U) << line;
}

TEST_F(PlanCommand, JsonHasAllFigures) {
  const json plan = jsonOf("1f1b", {"--activation-gb", "1"});
  EXPECT_EQ(plan.at("schedule").at("name"), "1F1B");
  EXPECT_EQ(plan.at("schedule").at("ranks"), 4);
  EXPECT_EQ(plan.at("schedule").at("stages"), 4);
  EXPECT_EQ(plan.at("schedule").at("micro_batches"), 8);
  EXPECT_EQ(plan.at("schedule").at("bidirectional"), false);
  EXPECT_EQ(plan.at("schedule").at("updates_every"), 0);
  EXPECT_EQ(plan.at("schedule").at("forward_only"), false);
  EXPECT_EQ(plan.at("schedule").at("credits"), 0);
  EXPECT_EQ(plan.at("schedule").at("fingerprint"),
            fingerprintText(fingerprint(buildSchedule("1F1B", 4, 8))));
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

TEST_F(PlanCommand, AsynchronousPlansListTheirWeightVersions) {
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
      plan({"--schedule", "1F1B", "--ranks", "2", "--micro-batches", "2", "--job-list"});
  EXPECT_EQ(result.exitCode, 0) << result.err;
  EXPECT_EQ(result.out,
            "rank 0: lr(0) forward(0) forward(1) backward(0) backward(1) optimizer(0)\n"
            "rank 1: lr(0) forward(0) backward(0) forward(1) backward(1) optimizer(0)\n");
}

TEST_F(PlanCommand, JobListsOfOtherPassesHaveOptions) {
  const std::vector<std::string> small = {"--schedule",      "1F1B", "--ranks",   "2",
                                          "--micro-batches", "3",    "--job-list"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), small.begin(), small.end());
    return plan(more).out;
  };
  const Plan built = buildSchedule("1F1B", {.ranks = 2, .microBatches = 3});
  const auto expected = [&](const PaddleJobListOptions& options) {
    return "rank 0: " + toText(paddleJobList(built, 0, options)) +
           "\nrank 1: " + toText(paddleJobList(built, 1, options)) + "\n";
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

TEST_F(PlanCommand, AForwardOnlyPlanHasTheBubbleOfTheFormula) {
  const json plan = jsonOf("ForwardOnly", {"--activation-gb", "1"});
  EXPECT_EQ(plan.at("schedule").at("forward_only"), true);
  EXPECT_EQ(plan.at("schedule").at("credits"), 2);
  EXPECT_EQ(plan.at("length_ns"), 11'000'000);
  EXPECT_NEAR(plan.at("bubble_ratio"), 3.0 / 11, 1e-12);
  EXPECT_EQ(plan.at("closed_form").at("length_ns"), 11'000'000);
  EXPECT_EQ(plan.at("ranks")[2].at("peak_memory_bytes"), 1'000'000'000);
  EXPECT_EQ(jsonOf("ForwardOnly", {"--optimizer-ms", "5", "--lr-ms", "1"}).at("length_ns"),
            11'000'000);
  EXPECT_THAT(planOf("ForwardOnly").out,
              StartsWith("ForwardOnly, 4 ranks, 8 micro-batches, forwards only, 2 credits\n"));
}

TEST_F(PlanCommand, TheForwardsOfAnyPlanAreAPlan) {
  const json plan = jsonOf("1F1B", {"--forward-only"});
  EXPECT_EQ(plan.at("schedule").at("name"), "forward part of 1F1B");
  EXPECT_EQ(plan.at("length_ns"), 11'000'000);
  EXPECT_EQ(plan.at("closed_form"), nullptr);  // it is for the whole schedule
  write("v.csv", "0F0,3F0,3B0,0B0\n1F0,2F0,2B0,1B0\n");
  const ProgramRun result =
      this->plan({"--schedule-file", path("v.csv"), "--forward-only", "--csv", "-"});
  EXPECT_EQ(result.out, "0F0,3F0\n1F0,2F0\n") << result.err;
}

TEST_F(PlanCommand, CreditsHoldAFastRankBackAndStandInTheFile) {
  const std::vector<std::string> slow = {"--forward-ms", "1,1,1,4", "--credits", "1"};
  const json plan = jsonOf("ForwardOnly", slow);
  // Rank 0 may send message n when 1F(n - 1) has ended. Rank 3 takes one every 4 ms.
  EXPECT_EQ(plan.at("length_ns"), (3 + 8 * 4) * 1'000'000);
  EXPECT_EQ(plan.at("critical_path").back().at("action"), "3F7");
  const std::string file = planOf("ForwardOnly", {"--credits", "1", "--csv", "-"}).out;
  EXPECT_THAT(file, StartsWith("# name = ForwardOnly, credits = 1\n"));
  write("held.csv", file);
  const ProgramRun again = this->plan({"--schedule-file", path("held.csv"), "--json"});
  EXPECT_EQ(json::parse(again.out).at("schedule"), plan.at("schedule"));
  EXPECT_EQ(jsonOf("ForwardOnly", {"--credits", "0"}).at("schedule").at("credits"), 0);
}

TEST_F(PlanCommand, TooFewCreditsAreADeadlockThatIsNamed) {
  // Rank 0 sends all of chunk 0 before it comes to chunk 1, whose messages rank 1 sends meanwhile.
  write("loops.csv", "0F0,0F1,0F2,0F3,2F0,2F1,2F2,2F3\n1F0,1F1,1F2,1F3,3F0,3F1,3F2,3F3\n");
  const auto checked = [&](const char* credits) {
    return this->plan({"--schedule-file", path("loops.csv"), "--check", "--credits", credits});
  };
  const ProgramRun stuck = checked("1");
  EXPECT_EQ(stuck.exitCode, 1);
  EXPECT_THAT(stuck.out, AllOf(HasSubstr("1SEND_F1 (rank 1, after cell 1) waits for a credit from "
                                         "2F0 (rank 0, cell 4)"),
                               HasSubstr("0SEND_F3 (rank 0, after cell 3) waits for a credit from "
                                         "1F2 (rank 1, cell 2)"),
                               HasSubstr("closes the cycle")));
  EXPECT_EQ(checked("2").exitCode, 0) << checked("2").out;
}

// Costs.

TEST_F(PlanCommand, TimesPerStageAreGivenWithCommas) {
  const json plan = jsonOf("1F1B", {"--forward-ms", "1,1,2.5,1", "--backward-ms", "2"});
  EXPECT_EQ(plan.at("ranks")[2].at("busy_ns"), 8 * (2'500'000 + 2'000'000));
  EXPECT_EQ(plan.at("ranks")[1].at("busy_ns"), 8 * 3'000'000);
  EXPECT_EQ(plan.at("closed_form"), nullptr);  // it is for equal stages
}

TEST_F(PlanCommand, ACostsFileGivesTheSamePlanAsOptions) {
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

TEST_F(PlanCommand, ARunWithoutBackwardPassesSaysNothingAboutTheirTimes) {
  EXPECT_EQ(planOf("ForwardOnly", {"--forward-ms", "10", "-o", path("evaluated/")}).exitCode, 0);
  const json costs = jsonOf("1F1B", {"--costs-from", path("evaluated")}).at("costs");
  EXPECT_EQ(costs.at("forward_ms"), 10);
  EXPECT_EQ(costs.at("backward_ms"), 20);  // twice the forward, as without any times
}

TEST_F(PlanCommand, AnExceededLimitIsReportedWithRankAndCell) {
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

}  // namespace
}  // namespace pipetrace
