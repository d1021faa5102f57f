// The contents of a run, and their report.
#include "analysis/run_contents.h"

#include <gmock/gmock.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "analysis/present/contents_report.h"
#include "analysis/testing/hand_made_timeline.h"

namespace pipetrace {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using enum JobKind;

class RunContentsTest : public testing::Test {
 protected:
  RunContents contents() {
    made_.timeline.sort();
    return contentsOf(made_.timeline);
  }
  StatedClock clock() { return contents().clock; }
  StatedTopology topology() const { return statedTopology(made_.timeline); }
  RankInfo& info(int rank) { return made_.timeline.ranks[rank]; }

  HandMadeTimeline made_;
};

TEST_F(RunContentsTest, JobsAreEventsOfComputeLanesAndOfTheirKinds) {
  made_.add(0, kForward, 10, 20, 0);
  made_.add(0, kOther, 20, 25, 0);
  made_.add(0, kSendForward, 20, 30, 4, 0, kSendLane);
  made_.add(0, kBubble, 25, 40, 0, 0, "bubbles");
  made_.add(0, kBubble, 25, 40, 0);
  made_.add(2, kBackward, 30, 50, 7, 0, "gpu");
  made_.add(2, kLr, 50, 60, 8);
  made_.add(2, kForward, 60, 61, kNotGiven);
  made_.add(2, kForward, 61, 62, 7);
  info(0).runs = 3;
  info(2).runs = 2;
  const double nothing = std::numeric_limits<double>::quiet_NaN();
  made_.timeline.counters = {{5, "loss", "", {{1, 0.5}, {2, nothing}, {3, 0.25}}}, {6, "", "", {}}};
  const RunContents found = contents();
  EXPECT_EQ(found.events, 9);
  EXPECT_EQ(found.jobs, 6) << "all but the message and the bubbles";
  EXPECT_EQ(found.ranks, 3) << "0 and 2, and 5 with its counter";
  EXPECT_EQ(found.steps, 2) << "0 and 7; others have no compute job";
  EXPECT_EQ(found.counters, 2);
  EXPECT_EQ(found.counterNames, std::vector<std::string>{"loss"});
  EXPECT_EQ(found.runs, 3);
  EXPECT_EQ(found.span.end, 62);
}

TEST_F(RunContentsTest, StepsOfAllPhasesCountAndThoseOfOthersAreNamed) {
  made_.add(0, kForward, 0, 10, 0);
  made_.add(0, kForward, 10, 20, 1).phase = Phase::kEvaluate;
  made_.add(1, kForward, 10, 20, 1).phase = Phase::kEvaluate;
  made_.add(0, kForward, 20, 30, 2).phase = Phase::kEvaluate;
  EXPECT_THAT(contentsText({.run = contents()}, {}),
              HasSubstr("steps     3, of them 2 evaluate\n"));
  made_.add(0, kForward, 30, 40, 3).phase = Phase::kPredict;
  const RunContents found = contents();
  EXPECT_EQ(found.steps, 4);
  EXPECT_THAT(contentsText({.run = found}, {}), HasSubstr("4, of them 2 evaluate and 1 predict\n"));
  const json report = json::parse(contentsJson({.run = found}, {}));
  EXPECT_EQ(report["steps"], 4);
  EXPECT_EQ(report["steps_of_phase"], json::parse(R"({"evaluate": 2, "predict": 1})"));
  made_ = {};
  made_.add(0, kForward, 0, 10, 0);
  EXPECT_FALSE(json::parse(contentsJson({.run = contents()}, {})).contains("steps_of_phase"));
}

TEST_F(RunContentsTest, ClocksAreAlignedOnceAllOffsetsAreZero) {
  EXPECT_TRUE(clock().isUnknown());
  EXPECT_FALSE(clock().aligned) << "nobody compared them";
  info(0).clock = "realtime";
  info(1).clock = "boot";
  info(2).clock = "realtime";
  EXPECT_THAT(clock().sources, ElementsAre("realtime", "boot"));
  EXPECT_FALSE(clock().isUnknown());
  info(1).clockReadings = {{.when = 10, .offset = 0, .bound = 9},
                           {.when = 20, .offset = 0, .bound = 7}};
  EXPECT_TRUE(clock().hasReadings);
  EXPECT_TRUE(clock().aligned);
  EXPECT_EQ(clock().bound, 9);
  info(2).clockReadings = {{.when = 10, .offset = 1, .bound = 8}};
  EXPECT_FALSE(clock().aligned);
  EXPECT_EQ(clock().bound, 9);
}

TEST_F(RunContentsTest, TopologyIsWhatAllRanksAgreeOn) {
  EXPECT_TRUE(topology().isUnknown());
  for (const int rank : {0, 1}) info(rank) = {.worldSize = 8, .numStages = 8, .numChunks = 2};
  EXPECT_EQ(topology().pipelineRanks, 4);
  EXPECT_EQ(topology().chunks, 2);
  EXPECT_EQ(topology().replicas, 2);
  info(1).numChunks = 3;
  EXPECT_EQ(topology().chunks, 1) << "as many stages as ranks";
  info(1).worldSize = 16;
  EXPECT_EQ(topology().chunks, std::nullopt);
  EXPECT_EQ(topology().pipelineRanks, std::nullopt);
  EXPECT_EQ(topology().replicas, std::nullopt);
  info(0).dataParallelIndex = 0;
  EXPECT_EQ(topology().replicas, std::nullopt) << "the other rank does not name its";
  info(1).dataParallelIndex = 1;
  EXPECT_EQ(topology().replicas, 2);
}

TEST_F(RunContentsTest, RanksThatShareStagesAreNoReplicas) {
  for (const int rank : {0, 1, 2, 3}) {
    info(rank).worldSize = 4;
    info(rank).numStages = 2;
    info(rank).numChunks = 1;
    info(rank).dataParallelIndex = 0;
    info(rank).ranksOfStage = "0,1,2/3";
  }
  EXPECT_EQ(topology().pipelineRanks, 4);
  EXPECT_EQ(topology().replicas, 1);
  const InputContents found{.format = "job log", .run = contents()};
  EXPECT_THAT(contentsText(found, {}),
              HasSubstr("topology  pp 4, dp 1, vpp 1, stages on ranks 0,1,2/3\n"));
  const json report = json::parse(contentsJson(found, {}));
  EXPECT_EQ(report["topology"]["ranks_of_stage"], json::parse("[[0,1,2],[3]]"));
  for (const int rank : {0, 1, 2, 3}) info(rank).worldSize = 8;
  EXPECT_EQ(topology().replicas, 2);
}

TEST_F(RunContentsTest, NumbersThatDoNotDivideAreNotUsed) {
  info(0) = {.worldSize = 6, .numStages = 8, .numChunks = 2};
  EXPECT_EQ(topology().pipelineRanks, 4);
  EXPECT_EQ(topology().replicas, std::nullopt);
  info(0).numChunks = 3;
  EXPECT_EQ(topology().pipelineRanks, std::nullopt);
  EXPECT_EQ(topology().chunks, 3);
  info(0).numChunks = 0;
  EXPECT_EQ(topology().chunks, std::nullopt);
}

TEST_F(RunContentsTest, TextHasALineForEachField) {
  made_.add(0, kForward, 1'500'000, 4'000'000, 0);
  const InputContents input{.format = "job log", .run = contents(), .flows = 5};
  EXPECT_EQ(contentsText(input, {}),
            "format    job log\n"
            "ranks     1\n"
            "runs      1\n"
            "steps     1\n"
            "jobs      1\n"
            "events    1\n"
            "counters  0\n"
            "flows     5\n"
            "time      2.500 ms from 1.500000 ms since the epoch\n"
            "topology  unknown\n"
            "clock     unknown\n"
            "findings  none\n");
}

TEST_F(RunContentsTest, TextNamesWhatIsKnownOfTopologyAndClock) {
  info(0) = {.worldSize = 8, .numStages = 4, .numChunks = 1};
  info(0).clock = "realtime";
  InputContents input{.format = "job log", .run = contents()};
  EXPECT_THAT(contentsText(input, {}),
              HasSubstr("\ntopology  pp 4, dp 2, vpp 1\nclock     realtime\n"));
  info(0).clockReadings = {{.when = 10, .offset = 5, .bound = 70}};
  input.run = contents();
  EXPECT_THAT(
      contentsText(input, {}),
      HasSubstr("\nclock     realtime, each rank in its own clock, known to within 70 ns\n"));
  info(0).clockReadings[0].offset = 0;
  info(0).clock.clear();
  input.run = contents();
  EXPECT_THAT(contentsText(input, {}),
              HasSubstr("\nclock     all times in rank 0's clock, known to within 70 ns\n"));
  info(0).numStages.reset();
  input.run = contents();
  EXPECT_THAT(contentsText(input, {}), HasSubstr("\ntopology  vpp 1\n"));
}

TEST_F(RunContentsTest, FindingsAreCountedBySeverity) {
  Diagnostics diagnostics;
  diagnostics.add({.severity = Severity::kNote, .message = "a"});
  diagnostics.add({.severity = Severity::kError, .message = "b"});
  diagnostics.add({.severity = Severity::kNote, .message = "c"});
  diagnostics.add({.severity = Severity::kWarning, .message = "d"});
  EXPECT_THAT(contentsText({}, diagnostics),
              HasSubstr("\nfindings  1 error, 1 warning, 2 notes\n"));
}

TEST_F(RunContentsTest, JsonHasTheFieldsUnderTheirKeys) {
  made_.add(0, kForward, 1'500'000, 4'000'000, 0);
  InputContents input{.format = "job log", .run = contents(), .flows = 5};
  Diagnostics diagnostics;
  diagnostics.add({Severity::kError, "workerlog.0", 7, "no end", "look"});
  EXPECT_EQ(json::parse(contentsJson(input, diagnostics)), json::parse(R"({
      "format": "job log", "ranks": 1, "runs": 1, "steps": 1, "jobs": 1, "events": 1,
      "counters": 0, "counter_names": [], "flows": 5, "begin_ns": 1500000, "end_ns": 4000000,
      "topology": "unknown", "clock": "unknown",
      "diagnostics": [{"severity": "error", "file": "workerlog.0", "line": 7, "count": 1,
                       "message": "no end", "advice": "look"}]})"));
  info(0) = {.worldSize = 6, .numStages = 4, .numChunks = 1};
  info(0).clockReadings = {{.when = 10, .offset = 0, .bound = 70}};
  input.run = contents();
  json report = json::parse(contentsJson(input, {}));
  EXPECT_EQ(report["topology"], json::parse(R"({"pp": 4, "dp": null, "vpp": 1})"));
  EXPECT_EQ(report["clock"], json::parse(R"({"source": null, "aligned": true, "bound_ns": 70})"));
  info(0).clock = "realtime";
  info(1).clock = "boot";
  info(0).clockReadings.clear();
  input.run = contents();
  report = json::parse(contentsJson(input, {}));
  EXPECT_EQ(report["clock"],
            json::parse(R"({"source": "realtime, boot", "aligned": false, "bound_ns": null})"));
}

}  // namespace
}  // namespace pipetrace
