// Reports on a run whose times are known by hand. Findings are made up: their wording is tested
// where they are made.
#include "analysis/run_report/run_report.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "analysis/testing/faulty_run.h"

namespace pipetrace {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

/// 1F1B on 2 ranks with 3 micro-batches in 3 steps of 120 ms; F 10 ms, B 20 ms. In each step rank 0
/// is idle from 20 to 40 and from 90 to 100 ms, rank 1 to 10 ms and from 100 ms. The first step
/// does not count.
class ReportByHand : public testing::Test {
 protected:
  static constexpr Nanoseconds kMs = kNsPerMs;

  ReportByHand() {
    const Plan plan = buildSchedule("1F1B", 2, 3);
    timeline_ = test::completedRun(plan, Costs::equal(2, {10 * kMs, 20 * kMs}));
    run_ = explainRun(timeline_, {.steps = {{1}}});
    run_.findings.clear();
  }

  RunReport report() const { return {timeline_, run_, diagnostics_}; }
  std::string text() const { return runReportText(report()); }
  json toJson() const { return json::parse(runReportJson(report())); }

  /// The id of a job in step 1.
  JobGraph::Id job(int rank, JobKind kind, std::int32_t microBatch) const {
    for (JobGraph::Id id = 0; id < run_.graph->jobCount(); ++id) {
      const JobGraph::Node& node = run_.graph->node(id);
      const int number = run_.graph->ranks()[node.rank].number;
      if (number == rank && node.kind == kind && node.microBatch == microBatch && node.step == 1) {
        return id;
      }
    }
    return JobGraph::kNone;
  }

  Timeline timeline_;
  Diagnostics diagnostics_;
  Explanation run_;
};

TEST_F(ReportByHand, TextHasAllPartsOfARunWithoutFaults) {
  // The path: F0 of rank 0, three F and three B of rank 1, B2 of rank 0.
  EXPECT_EQ(text(),
            "2 ranks, 3 steps, 36 compute jobs\n"
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
  run_.schedule.recognised = {};
  run_.schedule.problem = "step 2 was cut off";
  EXPECT_THAT(text(),
              HasSubstr("\nschedule: unknown order; the logs name 1F1B; step 2 was cut off\n"));
  for (auto& [rank, info] : timeline_.ranks) info.schedule.clear();
  run_.schedule.problem.clear();
  run_.schedule.deviationCount = 2;
  run_.schedule.deviations = {{.step = 7, .rank = 3, .job = "2F5"},
                              {.step = 8, .rank = 4, .job = "2F6"}};
  EXPECT_THAT(text(), HasSubstr("\nschedule: unknown order; 2 jobs at other places, such as 2F5 of "
                                "rank 3 in step 7\n"));
}

TEST_F(ReportByHand, ReplicasAreCountedAsPipelines) {
  // Each rank by itself runs a plan of one rank.
  Timeline alone = test::completedRun(buildSchedule("1F1B", 1, 2), Costs::equal(1, {10, 20}), 1);
  alone.ranks[0] = {.rank = 0, .worldSize = 2, .numStages = 1, .dataParallelIndex = 0};
  alone.ranks[1] = {.rank = 1, .worldSize = 2, .numStages = 1, .dataParallelIndex = 1};
  const std::vector<Event> events = alone.track(0, kComputeLane).events;
  alone.track(1, kComputeLane).events = events;
  alone.sort();
  const Explanation explanation = explainRun(alone, {});
  const RunReport report{alone, explanation, diagnostics_};
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
  run_.steps[0].summary.end += 900 * kMs;  // the first step does not count
  run_.steps[1].summary.end += 30 * kMs;
  run_.steps[1].efficiency.planned = 0;
  run_.steps[2].efficiency.schedule = 0.5;
  EXPECT_THAT(text(), HasSubstr("                    length  135.0 ms  135.0 ms  150.0 ms\n"));
  EXPECT_THAT(text(), HasSubstr("       schedule efficiency    0.5000    0.5000    0.5000\n"));
  json report = toJson();
  EXPECT_EQ(report["summary"]["steps"], 2);
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
  EXPECT_THAT(text(), HasSubstr(" everywhere, 1.2500 by stage 1 alone, 1.4000 by kind backward "
                                "alone\n"));
  run_.slowdown.byReplica[3] = 1.6;
  EXPECT_THAT(text(), HasSubstr(", 1.6000 by pipeline 3 alone, "));
  run_.slowdown.reason = "jobs are missing";
  EXPECT_THAT(text(), HasSubstr("\nslowdown is not known: jobs are missing\n"));
  EXPECT_EQ(toJson()["slowdown"], json::parse(R"({"reason": "jobs are missing"})"));
}

TEST_F(ReportByHand, CommunicationAndThroughputAreLinesWhereTheyAreKnown) {
  run_.communication = {.all = 40 * kMs, .exposed = 10 * kMs};
  run_.tokensPerSecond = 1234.5;
  run_.modelFlopsUtilization = 0.375;
  EXPECT_THAT(text(), HasSubstr(" everywhere\ncommunication takes 40.00 ms on all ranks, 25.0 % of "
                                "it with no compute job meanwhile\n1234 tokens a second\nmodel "
                                "FLOPs utilization 0.3750\n"));
  const json summary = toJson()["summary"];
  EXPECT_EQ(summary["communication_ns"], 40 * kMs);
  EXPECT_EQ(summary["exposed_communication_ns"], 10 * kMs);
  EXPECT_EQ(summary["overlap"], 0.75);
  EXPECT_EQ(summary["tokens_per_second"], 1234.5);
  EXPECT_EQ(summary["mfu"], 0.375);
}

TEST_F(ReportByHand, JsonHasTheRunAndItsRanks) {
  const json report = toJson();
  EXPECT_EQ(report["profile"], json::parse(R"({"ranks": 2, "pp": 2, "dp": 1, "vpp": 1,
      "schedule": "1F1B", "steps": 3, "jobs": 36, "clock_error_ns": null, "inferred": [],
      "given_schedule": "1F1B", "schedules": ["1F1B", "PipeDream", "PipeDream-2BW"]})"));
  EXPECT_FALSE(report["summary"].contains("tokens_per_second"));
  EXPECT_FALSE(report["summary"].contains("mfu"));
  ASSERT_EQ(report["steps"].size(), 3U);
  EXPECT_EQ(report["steps"][1], json::parse(R"({"step": 1, "dp": 0, "begin_ns": 120000000,
      "duration_ns": 120000000, "bubble_ratio": 0.25, "span_bubble": 0.25,
      "parallel_efficiency": 0.75, "load_balance": 1.0, "communication_efficiency": 0.75,
      "schedule_efficiency": 1.0, "counted": true})"));
  EXPECT_EQ(report["steps"][0]["counted"], false);
  ASSERT_EQ(report["ranks"].size(), 2U);
  EXPECT_EQ(report["ranks"][1], json::parse(R"({"rank": 1, "stage": 1, "dp": 0,
      "busy_ns": 180000000, "idle_ns": 60000000, "launch_bound_ns": 0,
      "bubbles": {"warm_up": 20000000, "steady": 0, "drain": 40000000, "transfer": 0, "launch": 0,
                  "peer_wait": 0, "imbalance": 0, "sync": 0, "unknown": 0}})"));
  EXPECT_EQ(report["slowdown"]["total"], 1);
  EXPECT_EQ(report["slowdown"]["by_dp"], json::parse(R"({"0": 1.0})"));
  EXPECT_EQ(report["slowdown"]["m_s"], nullptr);
  EXPECT_EQ(report["slowdown"]["step_ns"], 120 * kMs);
  EXPECT_EQ(report["slowdown"]["ideal_step_ns"], 120 * kMs);
  EXPECT_EQ(report["slowdown"]["steps"], 2);
  EXPECT_EQ(report["slowdown"]["ranks"][1],
            json::parse(R"({"rank": 1, "stage": 1, "dp": 0, "score": 1.0})"));
}

TEST_F(ReportByHand, InferredNumbersAreListed) {
  run_.topology.inferred = true;
  Alignment alignment{.by = AlignBy::kNone, .hosts = {{.host = "a", .bound = 0}}};
  RunReport with{timeline_, run_, diagnostics_, &alignment};
  const auto profile = [&] { return json::parse(runReportJson(with))["profile"]; };
  EXPECT_EQ(profile()["inferred"], json::array({"topology"}));
  EXPECT_EQ(profile()["clock_error_ns"], 0) << "one host has one clock";
  alignment.hosts.push_back({.host = "b"});
  EXPECT_EQ(profile()["clock_error_ns"], nullptr) << "nothing bounds the second clock";
  alignment.hosts[1].bound = 70;
  alignment.by = AlignBy::kLog;
  EXPECT_EQ(profile()["clock_error_ns"], 70);
  EXPECT_EQ(profile()["inferred"], json::array({"topology"}));
  alignment.by = AlignBy::kCausal;
  EXPECT_EQ(profile()["clock_error_ns"], 70);
  EXPECT_EQ(profile()["inferred"], json::array({"topology", "clocks"}));
}

TEST_F(ReportByHand, JsonGivesTheEvidenceOfFindings) {
  const JobGraph::Id culprit = job(0, JobKind::kForward, 2);
  Finding plain;
  plain.text = "the schedule's own";
  plain.advice = "look here";
  Finding blamed;
  blamed.severity = Severity::kWarning;
  blamed.text = "a slow link";
  blamed.advice = "look there";
  blamed.shareOfSteps = 0.25;
  blamed.ranks = {{1, 3 * kMs}};
  blamed.bubbleClass = BubbleClass::kTransfer;
  blamed.classes = {BubbleClass::kTransfer};
  blamed.time = 5 * kMs;
  blamed.share = 0.5;
  blamed.culprit = {.rank = 0, .peer = 1, .stage = 0, .job = culprit};
  blamed.examples = {{1U, {.begin = 3 * kMs, .end = 8 * kMs}}};
  run_.findings = {plain, blamed};
  EXPECT_THAT(text(), HasSubstr("\n  1. the schedule's own\n     next: look here\n"
                                "  2. a slow link\n     next: look there\n\nidle"));
  json findings = toJson()["findings"];
  EXPECT_EQ(findings[0],
            json::parse(R"({"severity": "note", "text": "the schedule's own", "advice": "look here",
                            "minor": false, "evidence": {}})"));
  json& evidence = findings[1]["evidence"];
  EXPECT_TRUE(evidence["culprit"].contains("id"));
  evidence["culprit"].erase("id");
  EXPECT_EQ(findings[1], json::parse(R"({"severity": "warning", "text": "a slow link",
      "advice": "look there", "minor": false, "find": "rank:1 class:unknown at:5ms",
      "evidence": {"class": "transfer", "classes": ["transfer"], "time_ns": 5000000, "share_of_idle": 0.5,
                   "share_of_steps": 0.25, "ranks": [{"rank": 1, "time_ns": 3000000}],
                   "culprit": {"rank": 0, "job": "0F2", "step": 1, "peer": 1, "stage": 0},
                   "bubbles": [{"rank": 1, "begin_ns": 3000000, "end_ns": 8000000}]}})"));
}

TEST_F(ReportByHand, TheFiftyLongestBubblesAreListedUnlessAllAreWanted) {
  run_.bubbles.byRank = {{}, {}};
  for (int i = 0; i < 30; ++i) {
    for (std::size_t r = 0; r < 2; ++r) {
      // Rank 0: 30 to 1 ns; rank 1: 1 to 30 ns.
      const int length = r == 0 ? 30 - i : i + 1;
      run_.bubbles.byRank[r].push_back({.begin = 100 * i,
                                        .end = 100 * i + length,
                                        .step = 2,
                                        .bubbleClass = BubbleClass::kSync});
    }
  }
  run_.bubbles.byRank[1].push_back(
      {.begin = 5000, .end = 5030, .step = 2, .bubbleClass = BubbleClass::kSync});
  run_.bubbles.byRank[1].push_back({.begin = 6000,
                                    .end = 6100,
                                    .step = 0,
                                    .bubbleClass = BubbleClass::kSync});  // does not count
  json list = toJson()["bubbles"];
  ASSERT_EQ(list.size(), 50U);
  EXPECT_EQ(list[0], json::parse(R"({"rank": 0, "begin_ns": 0, "end_ns": 30, "step": 2,
      "class": "sync", "culprit": null})"));
  EXPECT_EQ(list[1]["begin_ns"], 2900) << "of those equally long the lower rank is first";
  EXPECT_EQ(list[1]["rank"], 1);
  EXPECT_EQ(list[2]["begin_ns"], 5000) << "then the one that began first";
  const auto lengthOf = [](const json& bubble) {
    return bubble["end_ns"].get<int>() - bubble["begin_ns"].get<int>();
  };
  for (std::size_t i = 1; i < list.size(); ++i) {
    EXPECT_LE(lengthOf(list[i]), lengthOf(list[i - 1])) << i;
  }
  EXPECT_EQ(lengthOf(list[49]), 6) << "61 bubbles, of which the 11 shortest have up to 6 ns";
  RunReport all = report();
  all.all = true;
  list = json::parse(runReportJson(all))["bubbles"];
  ASSERT_EQ(list.size(), 61U);
  EXPECT_EQ(list[1]["begin_ns"], 100) << "rank by rank, in the order of time";
  run_.bubbles.byRank = {{}, {}};
  EXPECT_EQ(toJson()["bubbles"], json::array());
}

TEST_F(ReportByHand, BubblesNameTheirCulprits) {
  const JobGraph::Id culprit = job(1, JobKind::kBackward, 0);
  run_.bubbles.byRank = {{{.begin = 140 * kMs,
                           .end = 160 * kMs,
                           .culprit = culprit,
                           .step = 1,
                           .bubbleClass = BubbleClass::kPeerWait}},
                         {}};
  json bubble = toJson()["bubbles"][0];
  EXPECT_EQ(bubble["class"], "peer_wait");
  EXPECT_EQ(bubble["culprit"]["rank"], 1);
  EXPECT_EQ(bubble["culprit"]["job"], "1B0");
  EXPECT_EQ(bubble["culprit"]["step"], 1);
}

TEST_F(ReportByHand, TheCriticalPathIsListedJobByJob) {
  const json path = toJson()["critical_path"];
  EXPECT_EQ(path["by_kind"], json::parse(R"({"backward": 160000000, "forward": 80000000})"));
  EXPECT_EQ(path["by_stage"], json::parse(R"({"0": 60000000, "1": 180000000})"));
  EXPECT_EQ(path["step"], 1) << "the first of those equally long";
  EXPECT_EQ(path["dp"], 0);
  std::string names;
  Nanoseconds end = 120 * kMs;
  for (const json& link : path["jobs"]) {
    names += link["job"].get<std::string>() + " ";
    EXPECT_EQ(link["begin_ns"], end);
    EXPECT_EQ(link["wait_ns"], 0);
    end = link["end_ns"];
  }
  EXPECT_EQ(names, "0F0 1F0 1B0 1F1 1B1 1F2 1B2 0B2 ");
  EXPECT_EQ(end, 240 * kMs);
}

TEST_F(ReportByHand, MessagesOnTheCriticalPathNameWhatTheyCarryAndWhoSentThem) {
  Costs costs = Costs::equal(2, {10 * kMs, 20 * kMs});
  costs.transfer = 3 * kMs;
  const Timeline timeline = test::completedRun(buildSchedule("1F1B", 2, 1), costs, 1);
  const Explanation explanation = explainRun(timeline, {});
  const json jobs =
      json::parse(runReportJson({timeline, explanation, diagnostics_}))["critical_path"]["jobs"];
  ASSERT_EQ(jobs.size(), 6U);  // F, message, F, B, message, B
  EXPECT_EQ(jobs[1], json::parse(R"({"rank": 1, "job": "recv_forward 0", "from": 0,
      "begin_ns": 10000000, "end_ns": 13000000, "wait_ns": 0})"));
  EXPECT_EQ(jobs[4]["job"], "recv_backward 0");
  EXPECT_EQ(jobs[4]["from"], 1);
  EXPECT_EQ(jobs[5]["end_ns"], 66 * kMs);
}

TEST_F(ReportByHand, TheExpectedOrderIsThatOfTheLastWholeStep) {
  run_.steps[1].efficiency.planned = 100 * kMs;
  run_.schedule.deviations = {
      {.step = 2, .rank = 1, .job = "1F2", .deviation = {.planned = -1, .measured = 4}}};
  run_.schedule.deviationCount = 9;
  json expected = toJson()["expected"];
  EXPECT_EQ(expected, json::parse(R"({"schedule": "1F1B", "length_ns": 110000000, "step": 2,
      "deviations": [{"rank": 1, "step": 2, "job": "1F2", "planned_position": null,
                      "measured_position": 4}],
      "deviation_count": 9})"));
  for (ExplainedStep& step : run_.steps) step.efficiency.planned = 0;
  run_.schedule.problem = "no step is whole";
  expected = toJson()["expected"];
  EXPECT_EQ(expected["length_ns"], nullptr);
  EXPECT_EQ(expected["problem"], "no step is whole");
}

TEST_F(ReportByHand, DiagnosticsAreListedWithWhatIsKnownOfThem) {
  diagnostics_.add({.severity = Severity::kNote, .message = "steps were inferred"});
  Diagnostic full{Severity::kError, "workerlog.0", 17, "no job", "look"};
  full.count = 3;
  diagnostics_.add(full);
  EXPECT_EQ(toJson()["diagnostics"], json::parse(R"([
      {"severity": "note", "message": "steps were inferred"},
      {"severity": "error", "message": "no job", "file": "workerlog.0", "line": 17,
       "advice": "look", "count": 3}])"));
}

}  // namespace
}  // namespace pipetrace
