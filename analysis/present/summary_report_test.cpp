#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "analysis/present/summary_report.h"
#include "analysis/testing/hand_made_timeline.h"
#include "analysis/testing/run_of_timeline.h"
#include "schedule/build_schedule.h"
#include "schedule/simulate/simulate.h"
#include "schedule/with_reductions.h"

namespace pipetrace {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

Simulation sample(int steps) {
  return simulate(buildSchedule("1F1B", 2, 3), Costs::equal(2, {10 * kNsPerMs, 20 * kNsPerMs}),
                  {.steps = steps, .stepsStartTogether = true});
}

TEST(TextReport, TablesAreAlignedAndHaveTheMetricsOfTheRun) {
  const Simulation run = sample(2);
  EXPECT_EQ(textReport(run.timeline, summarize(run.timeline)),
            "2 ranks, 2 steps, schedule 1F1B, 3 micro-batches\n"
            "bubble ratio 0.2500\n"
            "\n"
            "  rank      busy      idle  bubble ratio\n"
            "     0  180.0 ms  60.00 ms        0.2500\n"
            "     1  180.0 ms  60.00 ms        0.2500\n"
            "\n"
            "median lengths of jobs\n"
            "  stage  ranks   forward  backward\n"
            "      0      0  10.00 ms  20.00 ms\n"
            "      1      1  10.00 ms  20.00 ms\n"
            "\n"
            "  step    length  until next  bubble ratio  span bubble\n"
            "     0  120.0 ms        0 ns        0.2500       0.2500\n"
            "     1  120.0 ms        0 ns        0.2500       0.2500\n");
}

/// Steps of 10 ms: two of training around one evaluation and one prediction of 5 ms.
HandMadeTimeline stepsOfAllPhases() {
  constexpr Nanoseconds kMs = kNsPerMs;
  HandMadeTimeline made;
  made.add(0, JobKind::kForward, 0, 10 * kMs, 0).stage = 0;
  made.add(0, JobKind::kForward, 10 * kMs, 20 * kMs, 1).phase = Phase::kEvaluate;
  made.add(0, JobKind::kForward, 20 * kMs, 30 * kMs, 2).phase = Phase::kEvaluate;
  made.add(0, JobKind::kForward, 30 * kMs, 35 * kMs, 3).phase = Phase::kPredict;
  made.add(0, JobKind::kForward, 36 * kMs, 46 * kMs, 4).stage = 0;
  made.timeline.ranks[0].rank = 0;
  return made;
}

TEST(TextReport, StepsOfOtherPhasesAreInNoTableAndHaveALine) {
  const Timeline run = stepsOfAllPhases().timeline;
  EXPECT_EQ(textReport(run, summarize(run)),
            "1 rank, 2 steps\n"
            "steps 1 and 2 are of the phase evaluate and take 20.00 ms; no figure counts them\n"
            "step 3 is of the phase predict and takes 5.000 ms; no figure counts it\n"
            "bubble ratio 0.0000\n"
            "\n"
            "  rank      busy  idle  bubble ratio\n"
            "     0  20.00 ms  0 ns        0.0000\n"
            "\n"
            "  step    length  until next  bubble ratio  span bubble\n"
            "     0  10.00 ms    1.000 ms        0.0000       0.0000\n"
            "     4  10.00 ms        0 ns        0.0000       0.0000\n"
            "\n"
            "The logs do not say how the ranks are arranged: the pipelines were inferred.\n");
  const auto json = nlohmann::json::parse(jsonReport(run, summarize(run)));
  EXPECT_EQ(json["other_phases"],
            nlohmann::json::parse(R"([{"phase": "evaluate", "steps": [1, 2], "time_ns": 20000000},
                                      {"phase": "predict", "steps": [3], "time_ns": 5000000}])"));
  EXPECT_FALSE(json.contains("phase"));
}

TEST(TextReport, ARunWithoutTrainingSaysWhichPhaseTheFiguresAreAbout) {
  HandMadeTimeline made = stepsOfAllPhases();
  auto& events = made.timeline.tracks[0].events;
  std::erase_if(events, [](const Event& event) { return event.phase == Phase::kTraining; });
  EXPECT_THAT(textReport(made.timeline, summarize(made.timeline)),
              StartsWith("1 rank, 2 steps\n"
                         "no step is of training: all figures are about the phase evaluate\n"
                         "step 3 is of the phase predict and takes 5.000 ms; no figure counts it\n"
                         "bubble ratio"));
  const auto json = nlohmann::json::parse(jsonReport(made.timeline, summarize(made.timeline)));
  EXPECT_EQ(json["phase"], "evaluate");
  EXPECT_EQ(json["steps"].size(), 2U);
}

TEST(TextReport, ClassesOfBubblesAreColumnsAndTheSlowestStageIsNamed) {
  Costs costs = Costs::equal(2, {10 * kNsPerMs, 20 * kNsPerMs});
  costs.stages[1] = {15 * kNsPerMs, 30 * kNsPerMs};
  Simulation run = simulate(buildSchedule("1F1B", 2, 3), costs);
  addBubbles(run.timeline);
  const std::string text = textReport(run.timeline, summarize(run.timeline));
  EXPECT_THAT(text, HasSubstr("  rank      busy      idle  bubble ratio   warm_up     drain  "));
  EXPECT_THAT(text, HasSubstr("stage 1 is the slowest: 1.50 times the other stage\n"));
  const auto json = nlohmann::json::parse(jsonReport(run.timeline, summarize(run.timeline)));
  Nanoseconds sum = 0;
  for (const auto& [name, time] : json["ranks"][0]["bubbles"].items()) {
    sum += time.get<Nanoseconds>();
  }
  EXPECT_EQ(sum, json["ranks"][0]["idle_ns"]);
  EXPECT_EQ(json["stages"][1]["medians_ns"]["backward"], 30 * kNsPerMs);
}

// Three messages each: 2, 3 and 4 ms to send, 5, 7 and 9 ms to receive.
TEST(TextReport, MessagesThatTakeTimeHaveTheMediansOfTheirStage) {
  Timeline timeline = sample(2).timeline;
  std::erase_if(timeline.tracks, [](const Track& track) { return track.lane != kComputeLane; });
  for (const int rank : {0, 1}) {
    const bool isFirst = rank == 0;
    for (int microBatch = 0; microBatch < 3; ++microBatch) {
      Event message;
      message.stage = rank;
      message.microBatch = microBatch;
      message.begin = microBatch * 50 * kNsPerMs;
      message.end = message.begin + (isFirst ? 2 + microBatch : 5 + 2 * microBatch) * kNsPerMs;
      message.kind = isFirst ? JobKind::kSendForward : JobKind::kRecvForward;
      timeline.track(rank, logName(message.kind)).events.push_back(message);
    }
  }
  timeline.sort();
  const RunSummary summary = summarize(timeline);
  EXPECT_THAT(textReport(timeline, summary),
              HasSubstr("median lengths of jobs and messages\n"
                        "  stage  ranks   forward  backward  send_forward  recv_forward\n"
                        "      0      0  10.00 ms  20.00 ms      3.000 ms             -\n"
                        "      1      1  10.00 ms  20.00 ms             -      7.000 ms\n"
                        "receives and collectives last with the wait for other ranks\n"
                        "\n"));
  const auto json = nlohmann::json::parse(jsonReport(timeline, summary));
  EXPECT_EQ(json["stages"][1]["medians_ns"]["recv_forward"], 7 * kNsPerMs);
}

// A plan without a flush, whose first stage is on two ranks: updates and sums name their stage.
TEST(TextReport, UpdatesAndReductionsOfStagesHaveMedians) {
  const Plan plan = withReductions(buildOnStageRanks("PipeDream", {{0, 1}, {2}}, 8));
  Costs costs = Costs::equal(2, {20 * kNsPerMs, 40 * kNsPerMs});
  costs.stages[1] = {10 * kNsPerMs, 20 * kNsPerMs};
  costs.stages[0].reduction = 3 * kNsPerMs;
  costs.optimizer = 2 * kNsPerMs;
  const Timeline timeline = simulate(CheckedPlan(plan), costs).timeline;
  const auto json = nlohmann::json::parse(jsonReport(timeline, summarize(timeline)));
  EXPECT_GE(json["stages"][0]["medians_ns"]["all_reduce"], 3 * kNsPerMs);
  EXPECT_EQ(json["stages"][0]["medians_ns"]["optimizer"], 2 * kNsPerMs);
  EXPECT_EQ(json["stages"][1]["medians_ns"]["optimizer"], 2 * kNsPerMs);
  EXPECT_FALSE(json["stages"][1]["medians_ns"].contains("all_reduce"));
  EXPECT_THAT(textReport(timeline, summarize(timeline)),
              HasSubstr("  stage         ranks   forward  backward  optimizer  all_reduce\n"));
}

TEST(TextReport, LongRunsShowTheFirstAndTheLastSteps) {
  const Simulation run = sample(100);
  const std::string text = textReport(run.timeline, summarize(run.timeline));
  EXPECT_THAT(text, HasSubstr("\n     7  120.0 ms"));
  EXPECT_THAT(text, Not(HasSubstr("\n     8  120.0 ms")));
  EXPECT_THAT(text, HasSubstr("\n    92  120.0 ms"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3 + 3 + 5 + 1 + 1 + 17);
}

TEST(TextReport, SeveralPipelinesAddAColumn) {
  Simulation run = sample(1);
  for (auto& [rank, info] : run.timeline.ranks) {
    info.numStages = 1;
    info.dataParallelIndex = rank;
  }
  const std::string text = textReport(run.timeline, summarize(run.timeline));
  EXPECT_THAT(text, HasSubstr("2 ranks in 2 pipelines, 1 step"));
  EXPECT_THAT(text, HasSubstr("  rank  pipeline"));
}

TEST(TextReport, InferredPipelinesAreMarkedAsInferred) {
  Simulation run = sample(1);
  for (auto& [rank, info] : run.timeline.ranks) info = {.rank = rank};
  EXPECT_THAT(textReport(run.timeline, summarize(run.timeline)), HasSubstr("inferred"));
}

TEST(TextReport, ARunWithoutComputeJobsHasItsContentsListed) {
  Timeline timeline;
  EXPECT_THAT(textReport(timeline, summarize(timeline)), HasSubstr("nothing to measure"));
  HandMadeTimeline made;
  for (int i = 0; i < 3; ++i) {
    made.add(0, JobKind::kSendForward, i, i + 1, i, 0, "send");
    made.add(0, JobKind::kRecvForward, i, i + 1, i, 0, "recv");
  }
  made.add(1, JobKind::kLr, 0, 1);
  made.timeline.sort();
  const std::string text = textReport(made.timeline, summarize(made.timeline));
  EXPECT_THAT(text, StartsWith("2 ranks, 3 streams (compute, recv, send), 7 events\nno forward"));
  for (int i = 0; i < 9; ++i) {
    made.add(0, JobKind::kOther, 0, 1, 0, 0, "aux" + std::to_string(i));
  }
  made.timeline.sort();
  EXPECT_THAT(textReport(made.timeline, summarize(made.timeline)),
              StartsWith("2 ranks, 12 streams (aux0, aux1, aux2, aux3, aux4, aux5, aux6, aux7, …), "
                         "16 events\n"));
}

TEST(JsonReport, TimesAreWholeNanosecondsUnderTheDocumentedKeys) {
  const Simulation run = simulate(buildSchedule("1F1B", 2, 3), Costs::equal(2, {10, 20}),
                                  {.begin = 1'697'793'307'213'760'986});
  const std::string text = jsonReport(run.timeline, summarize(run.timeline));
  const auto json = nlohmann::json::parse(text);
  EXPECT_EQ(text.back(), '\n');
  EXPECT_DOUBLE_EQ(json["bubble_ratio"], 0.25);
  EXPECT_EQ(json["topology_inferred"], false);
  ASSERT_EQ(json["steps"].size(), 1U);
  const auto& step = json["steps"][0];
  EXPECT_EQ(step["begin_ns"].get<std::int64_t>(), 1'697'793'307'213'760'986);
  EXPECT_EQ(step["duration_ns"], 120);
  EXPECT_EQ(step["window_ns"], 120);
  EXPECT_EQ(step["between_steps_ns"], 0);
  EXPECT_EQ(step["ranks"][1]["busy_ns"], 90);
  EXPECT_EQ(step["ranks"][1]["idle_ns"], 30);
  EXPECT_EQ(json["ranks"][0]["busy_ns"], 90);
  EXPECT_EQ(json["ranks"][0]["rank"], 0);
}

TEST(RatioText, RoundsToFourDigits) {
  EXPECT_EQ(ratioText(3.0 / 11), "0.2727");
  EXPECT_EQ(ratioText(0), "0.0000");
  EXPECT_EQ(ratioText(1), "1.0000");
}

}  // namespace
}  // namespace pipetrace
