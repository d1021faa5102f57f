#include "analysis/present/comparison_report.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace pipetrace {
namespace {

using testing::ElementsAre;

TEST(ComparisonReport, StepsHaveAsManyDigitsAsTellThemApart) {
  EXPECT_THAT(distinctDurations({33'000'000, 27'000'000, 33'000'000}),
              ElementsAre("33.00 ms", "27.00 ms", "33.00 ms"));
  EXPECT_THAT(distinctDurations({33'000'400, 33'000'000}), ElementsAre("33.0004 ms", "33.0000 ms"));
  EXPECT_THAT(distinctDurations({1'000'000'001, 1'000'000'000}),
              ElementsAre("1000.000001 ms", "1000.000000 ms"));
  EXPECT_THAT(distinctDurations({12'345'000'000, 9'000'000'000}), ElementsAre("12.35 s", "9.00 s"));
  EXPECT_THAT(distinctDurations({1'500, 20}), ElementsAre("1.50 us", "0.02 us"));
  EXPECT_TRUE(distinctDurations({}).empty());
}

ComparedPlan plan(std::string_view schedule, int chunks, Nanoseconds length) {
  return {.schedule = schedule,
          .chunks = chunks,
          .name = std::string(schedule),
          .length = length * kNsPerMs,
          .bubbleRatio = 0.25,
          .peakActivations = 4.5,
          .peakMemory = 3'000'000'000,
          .messages = 48,
          .inTorchOrder = 15 * kNsPerMs,
          .inTime = 12 * kNsPerMs};
}

TEST(ComparisonReport, ARowHasAllFiguresAndReasonsStandOnce) {
  const CompareInput input{.ranks = 4, .microBatches = 1, .hasMemory = true};
  ComparedPlans compared{.plans = {plan("LoopedBFS", 2, 10), plan("DualPipe", 1, 11)}};
  compared.plans[1].inTorchOrder = compared.plans[1].inTime;
  compared.plans[1].hasWeightsTwice = true;
  compared.leftOut = {{"FThenB", {2, 3, 4}, "only 1 chunk a rank", ""},
                      {"GPipe", {1}, "over the limit", "9.00 GB on rank 1"},
                      {"GPipe", {2, 3, 4}, "only 1 chunk a rank", ""},
                      {"ForwardOnly", {1, 2, 3, 4}, "nothing is trained", ""}};
  EXPECT_EQ(comparisonText(input, compared),
            "4 ranks, 1 micro-batch, the shortest step first\n\n"
            "   schedule  chunks      step  bubble ratio  peak activations  peak memory  messages"
            "                       order        weights\n"
            "  LoopedBFS       2  10.00 ms        0.2500              4.50      3.00 GB        48"
            "  in time (torch's: +25.0 %)      1 version\n"
            "   DualPipe       1  11.00 ms        0.2500              4.50      3.00 GB        48"
            "                         any  of two stages\n\n"
            "left out, only 1 chunk a rank: FThenB, GPipe with 2 to 4 chunks\n"
            "left out, over the limit: GPipe with 1 chunk (9.00 GB on rank 1)\n"
            "left out, nothing is trained: ForwardOnly\n");
}

TEST(ComparisonReport, ALineSaysWhatTheStepOfAPlanWithoutAFlushIs) {
  const CompareInput input{.ranks = 4, .microBatches = 8};
  ComparedPlans compared{.plans = {plan("PipeDream", 1, 11), plan("1F1B", 1, 12)}};
  compared.plans[0].isAsynchronous = true;
  EXPECT_THAT(comparisonText(input, compared, 500),
              testing::EndsWith("\n\nno flush: the step of PipeDream is of a batch alone, which "
                                "fills the pipeline and drains it\n"));
  compared.plans[0].steadyStep = 9 * kNsPerMs;
  EXPECT_THAT(
      comparisonText(input, compared, 500),
      testing::EndsWith(" drains it. A run does that once; each batch more adds 9.000 ms\n"));
  const auto json = nlohmann::json::parse(comparisonJson(input, compared));
  EXPECT_EQ(json.at("plans").at(0).at("steady_step_ns"), 9 * kNsPerMs);
  EXPECT_EQ(json.at("plans").at(1).at("steady_step_ns"), nullptr);
}

TEST(ComparisonReport, TheMeasuredStepStandsBesideTheRowOfItsSchedule) {
  const CompareInput input{.ranks = 4, .microBatches = 8};
  const ComparedPlans compared{.plans = {plan("1F1B", 1, 12)}};
  const auto end = [&](const ComparedRun& run) {
    const std::string text = comparisonText(input, compared, 500, run);
    return text.substr(text.find("the run took"));
  };
  ComparedRun run{.schedule = "1F1B", .step = 12'500'000};
  EXPECT_EQ(end(run),
            "the run took 12.50 ms a step in the median under 1F1B; the table has it at 12.00 ms, "
            "4.0 % less\n");
  run.step = 15'000'000;
  EXPECT_THAT(end(run), testing::HasSubstr("20.0 % less. The costs lack something"));
  run.launch = 1'000'000;
  EXPECT_THAT(end(run),
              testing::HasSubstr("\njobs of the run began 1.000 ms after their last input "
                                 "in the median; the table has no launches, what-if "
                                 "--schedule has them\n"));
  run.launch = 0;
  run.schedule = "ZBV";
  EXPECT_EQ(end(run),
            "the run took 15.00 ms a step in the median under ZBV, which the table lacks\n");
  const auto json = nlohmann::json::parse(comparisonJson(input, compared, run));
  EXPECT_EQ(json.at("run").at("step_ns"), 15'000'000);
  EXPECT_EQ(json.at("run").at("length_ns"), nullptr);
}

TEST(ComparisonReport, WithoutAnyPlanSaysSo) {
  const CompareInput input{.ranks = 1, .microBatches = 2};
  EXPECT_EQ(comparisonText(input, {}), "1 rank, 2 micro-batches: no plan is left\n");
}

TEST(ComparisonReport, JsonHasTheFiguresWithoutRounding) {
  const CompareInput input{.ranks = 4, .microBatches = 8};
  ComparedPlans compared{.plans = {plan("LoopedBFS", 2, 10)}};
  compared.plans[0].inTorchOrder.reset();
  compared.leftOut = {{"GPipe", {1}, "over the limit", "9.00 activations on rank 1"}};
  const auto json = nlohmann::json::parse(comparisonJson(input, compared));
  const auto& row = json.at("plans")[0];
  EXPECT_EQ(row.at("length_ns"), 10 * kNsPerMs);
  EXPECT_EQ(row.at("peak_memory_bytes"), nullptr) << "counted";
  EXPECT_EQ(row.at("order"), "in-time");
  EXPECT_EQ(row.at("torch_order_ns"), nullptr);
  EXPECT_EQ(row.at("in_time_ns"), 12 * kNsPerMs);
  EXPECT_EQ(json.at("left_out")[0].at("reason"), "over the limit: 9.00 activations on rank 1");
}

}  // namespace
}  // namespace pipetrace
