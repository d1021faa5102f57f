// The JSON of reports on a run whose times are known by hand. Findings are made up: their wording
// is tested where they are made.
#include "analysis/testing/explained_run.h"
#include "analysis/testing/report_by_hand.h"

namespace pipetrace {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class ReportJsonByHand : public test::ReportByHand {};

TEST_F(ReportJsonByHand, JsonHasTheRunAndItsRanks) {
  const json report = toJson();
  EXPECT_EQ(report["profile"], json::parse(R"({"ranks": 2, "pp": 2, "dp": 1, "vpp": 1,
      "schedule": "1F1B", "steps": 3, "jobs": 36, "clock_error_ns": null, "inferred": [],
      "given_schedule": "1F1B", "schedules": ["1F1B", "PipeDream", "PipeDream-2BW"]})"));
  EXPECT_FALSE(report["summary"].contains("tokens_per_second"));
  EXPECT_FALSE(report["summary"].contains("mfu"));
  ASSERT_EQ(report["steps"].size(), 3U);
  EXPECT_EQ(report["steps"][1], json::parse(R"({"step": 1, "dp": 0, "begin_ns": 120000000,
      "step_wall_ns": 120000000, "window_ns": 120000000, "duration_ns": 120000000, "bubble_ratio": 0.25, "span_bubble": 0.25,
      "parallel_efficiency": 0.75, "load_balance": 1.0, "communication_efficiency": 0.75,
      "schedule_efficiency": 1.0, "counted": true})"));
  EXPECT_EQ(report["steps"][0]["counted"], false);
  ASSERT_EQ(report["ranks"].size(), 2U);
  EXPECT_EQ(report["ranks"][1], json::parse(R"({"rank": 1, "stage": 1, "dp": 0,
      "busy_ns": 180000000, "idle_ns": 60000000, "launch_bound_ns": 0,
      "bubbles": {"warm_up": 20000000, "steady": 0, "drain": 40000000, "transfer": 0, "late_start": 0,
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

TEST_F(ReportJsonByHand, InferredNumbersAreListed) {
  topology().inferred = true;
  Alignment alignment{.by = AlignBy::kNone, .hosts = {{.host = "a", .bound = 0}}};
  RunReport with{run_, diagnostics_, &alignment};
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

TEST_F(ReportJsonByHand, JsonGivesTheEvidenceOfFindings) {
  const JobGraph::Id culprit = job(0, JobKind::kForward, 2);
  Finding plain;
  plain.time = 20 * kMs;
  plain.idle = 100 * kMs;
  Finding blamed;
  blamed.severity = Severity::kWarning;
  blamed.kind = FindingKind::kSlowLink;
  blamed.remedy = Remedy::kThatLink;
  blamed.facts = LinkBesideOthers{.median = 4 * kMs, .others = kMs};
  blamed.shareOfSteps = 0.25;
  blamed.ranks = {{1, 3 * kMs}};
  blamed.bubbleClass = BubbleClass::kTransfer;
  blamed.classes = {BubbleClass::kTransfer};
  blamed.time = 5 * kMs;
  blamed.idle = 10 * kMs;
  blamed.share = 0.5;
  blamed.culprit = {.rank = 0, .peer = 1, .stage = 0, .job = culprit};
  blamed.evidence = {{.rank = 1, .bubble = {.begin = 3 * kMs, .end = 8 * kMs}}};
  run_.findings = {plain, blamed};
  EXPECT_THAT(text(),
              HasSubstr("\n  1. of the idle time the schedule itself leaves 20.00 ms, 20.0 %\n"
                        "     next: another schedule or more micro-batches leave less: pipe-trace "
                        "advise says what each would bring\n"
                        "  2. messages between ranks 0 and 1 take 4.000 ms (median; other links "
                        "1.000 ms): transfers cost 5.000 ms of idle time, 50.0 % of all\n"
                        "     next: look at that link: its route, its network card, other traffic "
                        "on it\n\nidle"));
  json findings = toJson()["findings"];
  for (json& finding : findings) {
    EXPECT_TRUE(finding["text"].is_string() && finding["advice"].is_string());
    finding.erase("text");
    finding.erase("advice");
  }
  EXPECT_EQ(findings[0], json::parse(R"({"kind": "schedule", "where": {}, "severity": "note",
      "minor": false, "evidence": {}})"));
  json& evidence = findings[1]["evidence"];
  EXPECT_TRUE(evidence["culprit"].contains("id"));
  evidence["culprit"].erase("id");
  EXPECT_EQ(findings[1],
            json::parse(R"({"kind": "slow_link", "where": {"ranks": [1]}, "severity": "warning",
      "minor": false, "find": "rank:1 class:unknown at:5ms",
      "evidence": {"class": "transfer", "classes": ["transfer"], "time_ns": 5000000, "share_of_idle": 0.5,
                   "share_of_steps": 0.25, "ranks": [{"rank": 1, "time_ns": 3000000}],
                   "culprit": {"rank": 0, "job": "0F2", "step": 1, "peer": 1, "stage": 0},
                   "bubbles": [{"rank": 1, "begin_ns": 3000000, "end_ns": 8000000}]}})"));
}

TEST_F(ReportJsonByHand, TheFiftyLongestBubblesAreListedUnlessAllAreWanted) {
  bubbles().byRank = {{}, {}};
  for (int i = 0; i < 30; ++i) {
    for (std::size_t r = 0; r < 2; ++r) {
      // Rank 0: 30 to 1 ns; rank 1: 1 to 30 ns.
      const int length = r == 0 ? 30 - i : i + 1;
      bubbles().byRank[r].push_back({.begin = 100 * i,
                                     .end = 100 * i + length,
                                     .step = 2,
                                     .bubbleClass = BubbleClass::kSync});
    }
  }
  bubbles().byRank[1].push_back(
      {.begin = 5000, .end = 5030, .step = 2, .bubbleClass = BubbleClass::kSync});
  bubbles().byRank[1].push_back({.begin = 6000,
                                 .end = 6100,
                                 .step = 0,
                                 .bubbleClass = BubbleClass::kSync});  // was not chosen
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
  bubbles().byRank = {{}, {}};
  EXPECT_EQ(toJson()["bubbles"], json::array());
}

TEST_F(ReportJsonByHand, BubblesNameTheirCulprits) {
  const JobGraph::Id culprit = job(1, JobKind::kBackward, 0);
  bubbles().byRank = {{{.begin = 140 * kMs,
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

TEST_F(ReportJsonByHand, TheCriticalPathIsListedJobByJob) {
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

TEST_F(ReportJsonByHand, MessagesOnTheCriticalPathNameWhatTheyCarryAndWhoSentThem) {
  Costs costs = Costs::equal(2, {10 * kMs, 20 * kMs});
  costs.transfer = 3 * kMs;
  const Timeline timeline = test::completedRun(buildSchedule("1F1B", 2, 1), costs, 1);
  const auto explanation = explainRun(timeline, {});
  const json jobs =
      json::parse(runReportJson({explanation, diagnostics_}))["critical_path"]["jobs"];
  ASSERT_EQ(jobs.size(), 6U);  // F, message, F, B, message, B
  EXPECT_EQ(jobs[1], json::parse(R"({"rank": 1, "job": "recv_forward 0", "from": 0,
      "begin_ns": 10000000, "end_ns": 13000000, "wait_ns": 0})"));
  EXPECT_EQ(jobs[4]["job"], "recv_backward 0");
  EXPECT_EQ(jobs[4]["from"], 1);
  EXPECT_EQ(jobs[5]["end_ns"], 66 * kMs);
}

TEST_F(ReportJsonByHand, TheExpectedOrderIsThatOfTheLastWholeStep) {
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

TEST_F(ReportJsonByHand, DiagnosticsAreListedWithWhatIsKnownOfThem) {
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
