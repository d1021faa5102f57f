// The text of reports on a run whose times are known by hand. Findings are made up: their wording
// is tested where they are made.
#include "analysis/testing/report_by_hand.h"
#include "analysis/testing/explained_run.h"

namespace pipetrace {
namespace {

using nlohmann::json;
using test::ReportByHand;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST_F(ReportByHand, TextHasAllPartsOfARunWithoutFaults) {
  // The path: F0 of rank 0, three F and three B of rank 1, B2 of rank 0.
  EXPECT_EQ(text(),
            "2 ranks, 3 steps, 36 compute jobs\n"
            "a step takes 120.0 ms of wall time, to the next one's begin; 120.0 ms from its first "
            "job to its last (medians)\n"
            "schedule: 1F1B, also the order of PipeDream and PipeDream-2BW\n"
            "all figures and findings are about 2 of 3 steps\n"
            "\n"
            "findings\n"
            "  no cause of idle time takes 1 % of the steps' time\n"
            "\n"
            "idle time of each rank, in shares of the steps' time\n"
            "  rank      busy      idle  warm_up   drain\n"
            "     0  180.0 ms  60.00 ms   16.7 %   8.3 %\n"
            "     1  180.0 ms  60.00 ms    8.3 %  16.7 %\n"
            "\n"
            "2 steps count\n"
            "                over steps      mean    median      99 %\n"
            "                 wall time  120.0 ms  120.0 ms  120.0 ms\n"
            "                    length  120.0 ms  120.0 ms  120.0 ms\n"
            "              bubble ratio    0.2500    0.2500    0.2500\n"
            "               span bubble    0.2500    0.2500    0.2500\n"
            "       parallel efficiency    0.7500    0.7500    0.7500\n"
            "              load balance    1.0000    1.0000    1.0000\n"
            "  communication efficiency    0.7500    0.7500    0.7500\n"
            "       schedule efficiency    1.0000    1.0000    1.0000\n"
            "\n"
            "the critical path consists of backward 66.7 %, forward 33.3 %\n"
            "by stage: 0 25.0 %, 1 75.0 %\n"
            "\n"
            "slack of jobs: how much later they could end in a step of the same length\n"
            "  stage  least  median\n"
            "      0   0 ns    0 ns\n"
            "      1   0 ns    0 ns\n"
            "\n"
            "a step takes 1.0000 times as long as if work of one kind were equally long "
            "everywhere\n");
}

TEST_F(ReportByHand, TheHeadlineCountsPipelinesAndNamesTheSchedule) {
  run_.schedule.recognised.names = {"PipeDream"};
  EXPECT_THAT(text(), HasSubstr("\nschedule: PipeDream; the logs name 1F1B\n"));
  run_.schedule.recognised.names = {"1F1B", "A", "B", "C"};
  run_.schedule.recognised.isExact = false;
  EXPECT_THAT(text(), HasSubstr("\nschedule: like 1F1B, also the order of A, B and C\n"));
  run_.schedule.given = "Schedule1F1B";
  EXPECT_THAT(text(), HasSubstr("also the order of A, B and C\n")) << "the class of torch's";
  run_.schedule.given = "ScheduleGPipe";
  run_.schedule.recognised = {.names = {"FThenB"}, .isExact = true};
  EXPECT_THAT(text(), HasSubstr("\nschedule: FThenB (ScheduleGPipe in the logs)\n"));
  run_.schedule.given = "1F1B";
  run_.schedule.recognised = {};
  run_.schedule.problem = "step 2 was cut off";
  EXPECT_THAT(text(),
              HasSubstr("\nschedule: unknown order; the logs name 1F1B; step 2 was cut off\n"));
  run_.schedule.given.clear();
  run_.schedule.problem.clear();
  run_.schedule.deviationCount = 2;
  run_.schedule.deviations = {{.step = 7, .rank = 3, .job = "2F5"},
                              {.step = 8, .rank = 4, .job = "2F6"}};
  EXPECT_THAT(text(), HasSubstr("\nschedule: unknown order; 2 jobs at other places, such as 2F5 of "
                                "rank 3 in step 7\n"));
}

TEST_F(ReportByHand, NamesStayInTheirLines) {
  run_.schedule.given = "1F1B\n  1. rank 0 is slow";
  EXPECT_THAT(text(), HasSubstr("the logs name 1F1B?  1. rank 0 is slow\n"));
  const std::vector<TimeByName> names = {{.name = "gemm\n  1. rank 0 is slow"}};
  EXPECT_THAT(timeByNameText(names, true), HasSubstr("gemm?  1. rank 0 is slow\n"));
}

TEST_F(ReportByHand, ReplicasAreCountedAsPipelines) {
  // Each rank by itself runs a plan of one rank.
  Timeline alone = test::completedRun(buildSchedule("1F1B", 1, 2), Costs::equal(1, {10, 20}), 1);
  alone.ranks[0] = {.rank = 0, .worldSize = 2, .numStages = 1, .dataParallelIndex = 0};
  alone.ranks[1] = {.rank = 1, .worldSize = 2, .numStages = 1, .dataParallelIndex = 1};
  const std::vector<Event> events = alone.track(0, kComputeLane).events;
  alone.track(1, kComputeLane).events = events;
  alone.sort();
  const auto explanation = explainRun(alone, {});
  const RunReport report{explanation, diagnostics_};
  EXPECT_THAT(runReportText(report),
              StartsWith("2 ranks in 2 pipelines, 1 step, 8 compute jobs\n"));
  EXPECT_THAT(runReportText(report), HasSubstr("\n1 step counts\n")) << "in both pipelines";
  const json profile = json::parse(runReportJson(report))["profile"];
  EXPECT_EQ(profile["ranks"], 2);
  EXPECT_EQ(profile["pp"], 1);
  EXPECT_EQ(profile["dp"], 2);
  EXPECT_EQ(profile["steps"], 1);
  EXPECT_EQ(profile["jobs"], 8);
  EXPECT_FALSE(profile.contains("given_schedule"));
}

TEST_F(ReportByHand, CostsOfRanksToEachOtherAreATable) {
  EXPECT_THAT(text(), Not(HasSubstr("who costs whom")));
  run_.culprits.byRanks[{0, 1}] = 7 * kMs;
  run_.culprits.byRanks[{1, 1}] = 3 * kMs;
  EXPECT_THAT(text(), HasSubstr("\nwho costs whom: idle time with a culprit\n"
                                "   waits  for rank 1\n"
                                "  rank 0    7.000 ms\n"
                                "  rank 1    3.000 ms\n"));
  run_.culprits.byRanks.erase({1, 1});
  EXPECT_THAT(text(), Not(HasSubstr("\n  rank 1           -\n"))) << "it waits for nobody";
  EXPECT_EQ(toJson()["who_costs_whom"],
            json::parse(R"([{"rank": 0, "culprit": 1, "time_ns": 7000000}])"));
}

TEST_F(ReportByHand, EightFindingsArePrintedUnlessAllAreWanted) {
  for (int i = 1; i <= 10; ++i) {
    run_.findings.push_back({.kind = FindingKind::kUnknownSender,
                             .remedy = Remedy::kAllLogs,
                             .time = i * kMs,
                             .idle = 100 * kMs});
  }
  run_.findings.back().isMinor = true;
  run_.findings.back().shareOfSteps = 0.004;
  EXPECT_THAT(text(),
              HasSubstr("\n  8. messages from a rank that is not known cost 8.000 ms of idle "
                        "time, 8.0 % of all\n     next: give the logs of all ranks "
                        "together\n  1 more finding: --all\n"
                        "  1 more cause costs 0.4 % of the steps' time: --all\n\nidle"));
  RunReport all = report();
  all.all = true;
  EXPECT_THAT(
      runReportText(all),
      HasSubstr("\n  10. messages from a rank that is not known cost 10.00 ms of idle time, "
                "10.0 % of all\n     next: give the logs of all ranks together\n\nidle"));
}

TEST_F(ReportByHand, RanksAreInTheOrderOfTheirNumbers) {
  run_.culprits.byRanks[{0, 1}] = 7 * kMs;
  run_.culprits.byRanks[{1, 0}] = 3 * kMs;
  std::swap(run_.ranks[0].rank, run_.ranks[1].rank);
  EXPECT_THAT(text(), HasSubstr("drain\n     0  180.0 ms  60.00 ms    8.3 %  16.7 %\n"));
  EXPECT_THAT(text(), HasSubstr("   waits  for rank 0  for rank 1\n"
                                "  rank 0           -    3.000 ms\n"));
}

TEST_F(ReportByHand, TablesOfManyRanksAreCut) {
  run_.culprits.byRanks[{0, 1}] = 7 * kMs;
  run_.ranks.resize(32, run_.ranks[1]);
  EXPECT_THAT(text(), Not(HasSubstr("more rank")));
  EXPECT_THAT(text(), HasSubstr("who costs whom"));
  run_.ranks.push_back(run_.ranks[1]);
  EXPECT_THAT(text(), HasSubstr("%\nand 1 more rank; --json has all\n\nwho costs whom"));
  EXPECT_EQ(toJson()["ranks"].size(), 33U);
  for (std::uint32_t r = 0; r < 16; ++r) run_.culprits.byRanks[{0, r}] = kMs;
  EXPECT_THAT(text(), Not(HasSubstr("these have most of it")));
  run_.culprits.byRanks[{1, 16}] = kMs;
  EXPECT_THAT(text(), HasSubstr("\nthese have most of it, of 2 ranks that wait, for 17 ranks; "
                                "--json has all\n"));
}

TEST_F(ReportByHand, FiguresAreOverTheStepsThatCount) {
  const auto lengthen = [&](std::size_t step, Nanoseconds time) {
    for (StepSummary* const summary : {&run_.steps[step].summary, &summary().steps[step]}) {
      summary->end += time;
      summary->windowEnd += time;
    }
  };
  lengthen(0, 900 * kMs);  // step 0 was not chosen
  lengthen(1, 30 * kMs);
  run_.steps[1].efficiency.planned = 0;
  run_.steps[2].efficiency.schedule = 0.5;
  EXPECT_THAT(text(), HasSubstr("                    length  135.0 ms  135.0 ms  150.0 ms\n"));
  EXPECT_THAT(text(), HasSubstr("       schedule efficiency    0.5000    0.5000    0.5000\n"));
  json report = toJson();
  EXPECT_EQ(report["summary"]["steps"], 2);
  EXPECT_EQ(report["summary"]["window_ns"], report["summary"]["duration_ns"]);
  EXPECT_EQ(report["summary"]["duration_ns"],
            json::parse(R"({"mean": 135000000.0, "median": 135000000.0, "p99": 150000000.0})"));
  EXPECT_EQ(report["summary"]["bubble_ratio"]["mean"], 0.25);
  EXPECT_EQ(report["steps"][0]["duration_ns"], 1020 * kMs);
  EXPECT_EQ(report["steps"][1]["schedule_efficiency"], nullptr) << "jobs of it are missing";
  EXPECT_EQ(report["steps"][2]["schedule_efficiency"], 0.5);
  run_.steps[2].isCounted = false;
  EXPECT_THAT(text(), HasSubstr("\n1 step counts\n"));
  EXPECT_THAT(text(), Not(HasSubstr("schedule efficiency")));
  report = toJson();
  EXPECT_EQ(report["summary"]["schedule_efficiency"], nullptr);
}

TEST_F(ReportByHand, TheSlowdownNamesTheWorstOfEach) {
  run_.slowdown.total = 1.005;
  run_.slowdown.byStage = {{0, 1.1}, {1, 1.25}, {2, 1.2}};
  EXPECT_THAT(text(), HasSubstr("\na step takes 1.0050 times as long as if work of one kind were "
                                "equally long everywhere\n"))
      << "nobody makes that little";
  run_.slowdown.total = 1.5;
  run_.slowdown.byReplica = {{0, 1.5}};
  run_.slowdown.byKind = {{"backward", 1.4}, {"forward", 1.05}};
  run_.slowdown.mW.reset();
  EXPECT_THAT(text(),
              HasSubstr(" everywhere\n  alone, stage 1 makes it 1.2500, kind backward makes "
                        "it 1.4000\n"));
  run_.slowdown.byReplica[3] = 1.6;
  run_.slowdown.ranks = {
      {.number = 4, .replica = 0}, {.number = 6, .replica = 3}, {.number = 7, .replica = 3}};
  EXPECT_THAT(text(), HasSubstr(", pipeline 3 (ranks 6 and 7) makes it 1.6000, kind backward makes "
                                "it 1.4000 (more than all together: other work is shorter than "
                                "its ideal)\n"));
  run_.slowdown.mW = 0.8;
  run_.slowdown.worstRanks = {6};
  EXPECT_THAT(text(), HasSubstr("\n  without what is special about rank 6 it would be 1.1000\n"));
  run_.slowdown.worstRanks = {6, 4, 7};
  EXPECT_THAT(text(), Not(HasSubstr("special"))) << "all of them";
  run_.slowdown.reason = "jobs are missing";
  EXPECT_THAT(text(), HasSubstr("\nslowdown is not known: jobs are missing\n"));
  EXPECT_EQ(toJson()["slowdown"], json::parse(R"({"reason": "jobs are missing"})"));
}

TEST_F(ReportByHand, ARunWithoutACriticalPathHasNoLineAboutIt) {
  run_.pathShares.byKind.clear();
  EXPECT_THAT(text(), Not(HasSubstr("critical path")));
}

TEST_F(ReportByHand, CommunicationAndThroughputAreLinesWhereTheyAreKnown) {
  run_.communication = {.all = 40 * kMs, .exposed = 10 * kMs};
  run_.tokensPerSecond = 1234.5;
  run_.modelFlopsUtilization = 0.375;
  EXPECT_THAT(text(), HasSubstr(" everywhere\ncommunication takes 40.00 ms on all ranks, 25.0 % of "
                                "it outside of compute jobs\n1234 tokens a second\nmodel "
                                "FLOPs utilization 0.3750\n"));
  const json summary = toJson()["summary"];
  EXPECT_EQ(summary["communication_ns"], 40 * kMs);
  EXPECT_EQ(summary["exposed_communication_ns"], 10 * kMs);
  EXPECT_EQ(summary["overlap"], 0.75);
  EXPECT_EQ(summary["tokens_per_second"], 1234.5);
  EXPECT_EQ(summary["mfu"], 0.375);
}

}  // namespace
}  // namespace pipetrace
