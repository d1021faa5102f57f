// Reports on figures that are made by hand.
#include "analysis/present/plan_report.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "schedule/build_schedule.h"

namespace pipetrace {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

CriticalPath::Link job(int rank, const char* text, Nanoseconds begin, Nanoseconds end,
                       JobKind kind = JobKind::kForward) {
  return {.kind = kind,
          .rank = rank,
          .text = text,
          .begin = begin * kNsPerMs,
          .end = end * kNsPerMs,
          .reason = WaitReason::kRank};
}

CriticalPath::Link message(int from, int to, const char* text, Nanoseconds begin, Nanoseconds end) {
  CriticalPath::Link link = job(from, text, begin, end, JobKind::kSendForward);
  link.peer = to;
  link.reason = WaitReason::kMaker;
  return link;
}

CriticalPath::Link launch(int rank, const char* text, Nanoseconds begin, Nanoseconds end) {
  CriticalPath::Link link = job(rank, text, begin, end);
  link.isLaunch = true;
  link.reason = WaitReason::kLaunch;
  return link;
}

CriticalPath::Link acknowledgement(int from, int to, const char* text, Nanoseconds begin,
                                   Nanoseconds end) {
  CriticalPath::Link link = job(from, text, begin, end, JobKind::kRecvForward);
  link.peer = to;
  link.isAcknowledgement = true;
  return link;
}

class PlanReportTest : public testing::Test {
 protected:
  static constexpr Nanoseconds kMs = kNsPerMs;

  PlanReportTest() {
    figures_.length = figures_.windows = 10 * kMs;
    figures_.bubbleRatio = 0.25;
    figures_.spanBubble = 0.125;
    figures_.ranks = {{.busy = 9 * kMs, .idle = kMs, .bubbleRatio = 0.1, .peakActivations = 2},
                      {.busy = 6 * kMs, .idle = 4 * kMs, .bubbleRatio = 0.4, .peakActivations = 1}};
  }

  PlanReport report() const { return {.plan = plan_, .figures = &figures_}; }

  Plan plan_ = buildSchedule("1F1B", 2, 3);
  PlanFigures figures_;
};

TEST_F(PlanReportTest, AnAcknowledgementIsNoMessageOnTheCriticalPath) {
  CriticalPath::Link held = job(0, "0F2", 5, 10);
  held.reason = WaitReason::kCredit;
  figures_.criticalPath.links = {job(1, "1F0", 0, 4), acknowledgement(1, 0, "1F0", 4, 5), held};
  EXPECT_THAT(planText(report()),
              HasSubstr("critical path: rank 1 1F0, acknowledgement to rank 0, rank 0 0F2\n"
                        "  of it forward 9.000 ms, ack 1.000 ms\n"));
  const json path = json::parse(planJson(report())).at("critical_path");
  EXPECT_EQ(path[1].at("kind"), "ack");
  EXPECT_EQ(path[1].at("peer"), 0);
  EXPECT_EQ(path[2].at("reason"), "waited for a credit");
}

TEST_F(PlanReportTest, FiguresAreALineAndARowForEachRank) {
  EXPECT_EQ(planText(report()),
            "length 10.00 ms, bubble ratio 0.2500, span bubble 0.1250\n"
            "\n"
            "  rank      busy      idle  bubble ratio  peak activations\n"
            "     0  9.000 ms  1.000 ms        0.1000                 2\n"
            "     1  6.000 ms  4.000 ms        0.4000                 1\n"
            "\n");
  figures_.windows = 9 * kMs;
  EXPECT_EQ(planLine(figures_),
            "length 10.00 ms, windows of steps 9.000 ms, bubble ratio 0.2500, span bubble 0.1250");
  PlanReport severalSteps = report();
  severalSteps.steps = 2;
  severalSteps.faults = {"--scale stage=1:1.3", "--delay 1F2=3ms"};
  EXPECT_THAT(planText(severalSteps),
              HasSubstr(", span bubble 0.1250, 2 steps\n"
                        "with planted faults: --scale stage=1:1.3, --delay 1F2=3ms\n\n  rank "));
}

TEST_F(PlanReportTest, MemoryAndVersionsAreColumnsWhereTheySaySomething) {
  PlanReport withMemory = report();
  withMemory.hasMemory = true;
  const std::pair<std::int64_t, const char*> sizes[] = {{999, " 999 B\n"},
                                                        {1'000, " 1.00 kB\n"},
                                                        {2'345'678, " 2.35 MB\n"},
                                                        {1'250'000'000, " 1.25 GB\n"},
                                                        {7'000'000'000'000, " 7.00 TB\n"}};
  for (const auto& [bytes, text] : sizes) {
    figures_.ranks[1].peakMemory = bytes;
    EXPECT_THAT(planText(withMemory), HasSubstr(text));
    EXPECT_THAT(planText(report()), Not(HasSubstr(text)));
  }
  EXPECT_THAT(planText(withMemory), HasSubstr("peak activations  peak memory\n"));
  figures_.ranks[0].weightVersions = 2;
  EXPECT_THAT(
      planText(report()),
      HasSubstr("  rank      busy      idle  bubble ratio  peak activations  weight versions"
                "  weight distance\n"
                "     0  9.000 ms  1.000 ms        0.1000                 2                2"
                "                0\n"));
  figures_.ranks[0].weightVersions = 1;
  figures_.ranks[1].weightDistance = 1;
  EXPECT_THAT(planText(report()), HasSubstr("weight distance\n"));
}

TEST_F(PlanReportTest, JobsOfACriticalPathInARowOnARankAreOneEntry) {
  figures_.criticalPath.links = {job(0, "0F0", 0, 1),
                                 message(0, 1, "0SF0", 1, 2),
                                 job(1, "1F0", 2, 3),
                                 job(1, "1B0", 3, 5, JobKind::kBackward),
                                 job(0, "0B0", 5, 7, JobKind::kBackward),
                                 job(0, "0F1", 7, 8),
                                 job(0, "0B1", 8, 10, JobKind::kBackward)};
  EXPECT_THAT(planText(report(), 75),
              HasSubstr("\n\ncritical path: rank 0 0F0, message to rank 1, rank 1 1F0 1B0,\n"
                        "  rank 0 0B0 ... 0B1 (3 jobs)\n"
                        "  of it forward 3.000 ms, backward 6.000 ms, send_forward 1.000 ms\n"));
  EXPECT_THAT(planText(report(), 200),
              HasSubstr("rank 1 1F0 1B0, rank 0 0B0 ... 0B1 (3 jobs)\n  of it"));
}

TEST_F(PlanReportTest, ALateLaunchIsNoJobOfItsOwn) {
  figures_.criticalPath.links = {job(0, "0F0", 0, 1), launch(0, "0F1", 1, 4), job(0, "0F1", 4, 5)};
  EXPECT_THAT(planText(report()), HasSubstr("\ncritical path: rank 0 0F0 0F1\n"
                                            "  of it forward 2.000 ms, launch 3.000 ms\n"));
  figures_.criticalPath.links = {launch(0, "0F1", 1, 4), job(0, "0F1", 4, 5)};
  EXPECT_THAT(planText(report()), HasSubstr("\ncritical path: rank 0 0F1\n"));
}

TEST_F(PlanReportTest, LongCriticalPathsAreCutAfterTwentyEntries) {
  for (int i = 0; i < 21; ++i) {
    figures_.criticalPath.links.push_back(job(i % 2, "F", i, i + 1));
  }
  EXPECT_THAT(planText(report(), 1000), Not(HasSubstr("more")));
  figures_.criticalPath.links.push_back(job(1, "F", 21, 22));
  EXPECT_THAT(planText(report(), 1000), HasSubstr("rank 1 F, and 2 more\n"));
}

TEST_F(PlanReportTest, TheClosedFormIsTheLastLine) {
  figures_.closedForm = {.length = 12 * kMs, .peakLive = {2, 1}};
  EXPECT_THAT(planText(report()),
              testing::EndsWith("\ntheory: length of a step 12.00 ms, peak activations 2 1\n"));
  figures_.closedForm->peakLive.assign(16, 3);
  EXPECT_THAT(planText(report()), Not(HasSubstr("...")));
  figures_.closedForm->peakLive.push_back(4);
  EXPECT_THAT(planText(report()), testing::EndsWith(" 3 3 ...\n"));
  EXPECT_THAT(planText(report()), Not(HasSubstr("3 4")));
}

TEST_F(PlanReportTest, TitlesCountRanksChunksAndMicroBatches) {
  EXPECT_EQ(planTitle(plan_), "1F1B, 2 ranks, 3 micro-batches");
  EXPECT_EQ(planTitle(buildSchedule("GPipe", 1, 1)), "GPipe, 1 rank, 1 micro-batch");
  EXPECT_EQ(planTitle(buildSchedule("ZBV", 2, 4)), "ZBV, 2 ranks of 2 chunks, 4 micro-batches");
  EXPECT_EQ(planTitle(buildSchedule("ForwardOnly", 2, 3)),
            "ForwardOnly, 2 ranks, 3 micro-batches, forwards only, 2 credits");
  Plan held = plan_;
  held.credits = 1;
  EXPECT_EQ(planTitle(held), "1F1B, 2 ranks, 3 micro-batches, 1 credit");
  EXPECT_EQ(planTitle(buildSchedule("DualPipe", 2, 4)),
            "DualPipe, 2 ranks in both directions, 4 micro-batches");
}

TEST_F(PlanReportTest, JsonHasEveryFigureUnderItsKey) {
  figures_.criticalPath.links = {job(0, "0F0", 0, 1), message(0, 1, "0SF0", 1, 2),
                                 launch(1, "1F0", 2, 3)};
  figures_.ranks[1] = {6 * kMs, 4 * kMs, 0.4, 1, 500, 3, 2};
  PlanReport full = report();
  full.steps = 4;
  const json without = json::parse(planJson(full));
  EXPECT_EQ(without["schedule"], json::parse(R"({"name": "1F1B", "ranks": 2, "stages": 2,
      "micro_batches": 3, "bidirectional": false, "replicas": 1, "ranks_of_stage": [[0], [1]], "updates_every": 0,
      "forward_only": false, "credits": 0, "fingerprint": "8efd352a921d1b8f",
      "actions": [["0F0", "0F1", "0B0", "0F2", "0B1", "0B2"],
                  ["1F0", "1B0", "1F1", "1B1", "1F2", "1B2"]]})"));
  EXPECT_FALSE(without.contains("costs"));
  EXPECT_EQ(without["faults"], json::array());
  EXPECT_EQ(without["comm_streams"], nullptr);
  full.commStreams = "rank";
  EXPECT_EQ(json::parse(planJson(full))["comm_streams"], "rank");
  EXPECT_EQ(without["problems"], json::array());
  EXPECT_EQ(without["steps"], 4);
  EXPECT_EQ(without["length_ns"], 10 * kMs);
  EXPECT_EQ(without["windows_ns"], 10 * kMs);
  EXPECT_EQ(without["bubble_ratio"], 0.25);
  EXPECT_EQ(without["span_bubble"], 0.125);
  EXPECT_EQ(without["ranks"][1],
            json::parse(R"({"rank": 1, "stages": [1], "busy_ns": 6000000, "idle_ns": 4000000,
      "bubble_ratio": 0.4, "peak_activations": 1, "peak_memory_bytes": null,
      "weight_versions": 3, "weight_distance": 2})"));
  EXPECT_EQ(without["critical_path"], json::parse(R"([
      {"kind": "forward", "rank": 0, "action": "0F0", "begin_ns": 0, "end_ns": 1000000,
       "reason": "rank was busy"},
      {"kind": "send_forward", "rank": 0, "peer": 1, "action": "0SF0", "begin_ns": 1000000,
       "end_ns": 2000000, "reason": "made then"},
      {"kind": "launch", "rank": 1, "action": "1F0", "begin_ns": 2000000, "end_ns": 3000000,
       "reason": "launched late"}])"));
  EXPECT_EQ(without["closed_form"], nullptr);

  const Costs costs = Costs::equal(2, {.forward = kMs, .backward = 3 * kMs});
  full.costs = &costs;
  full.hasMemory = true;
  full.faults = {"--scale stage=1:1.3"};
  figures_.closedForm = {.length = 12 * kMs, .peakLive = {2, 1}};
  const json with = json::parse(planJson(full));
  EXPECT_EQ(with["costs"]["backward_ms"], 3);
  EXPECT_EQ(with["faults"], json::array({"--scale stage=1:1.3"}));
  EXPECT_EQ(with["ranks"][1]["peak_memory_bytes"], 500);
  EXPECT_EQ(with["closed_form"],
            json::parse(R"({"length_ns": 12000000, "peak_activations": [2, 1]})"));
}

TEST_F(PlanReportTest, JsonOfAPlanThatCannotRunHasProblemsInsteadOfFigures) {
  PlanReport broken{.plan = plan_};
  plan_.ranks[1][0].stage = -1;
  broken.problems = {{.rank = 1, .cell = 0, .message = "not read", .line = 2, .column = 5},
                     {.message = "rank 0 lacks a job"}};
  const json report = json::parse(planJson(broken));
  EXPECT_FALSE(report.contains("length_ns"));
  EXPECT_EQ(report["schedule"]["actions"][1][0], nullptr);
  EXPECT_EQ(report["schedule"]["actions"][1][1], "1B0");
  EXPECT_EQ(report["problems"], json::parse(R"([
      {"rank": 1, "cell": 0, "message": "not read", "line": 2, "column": 5},
      {"rank": -1, "cell": -1, "message": "rank 0 lacks a job"}])"));
}

}  // namespace
}  // namespace pipetrace
