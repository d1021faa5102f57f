#include "runtime/engine/training_plan.h"

#include <gmock/gmock.h>

#include <cstdlib>

#include "runtime/testing/error_of.h"
#include "schedule/build_schedule.h"
#include "schedule/check/check.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(TrainingPlanTest, APlanGetsAnotherOrderOfMessagesOnlyWhereItsOwnDeadlocksInLine) {
  const auto hasOrder = [](const Plan& plan) { return plan.hasAny(isTransfer); };
  const CheckedPlan plan = buildSchedule("LoopedBFS", 4, 8);
  ASSERT_FALSE(hasOrder(*plan));
  std::string note;
  const CheckedPlan inLine = withMessagesInLine(plan, note);
  EXPECT_TRUE(hasOrder(*inLine));
  EXPECT_THAT(note, HasSubstr("the messages of LoopedBFS would deadlock"));
  EXPECT_NO_THROW(requireRunsInLine(inLine, CommStreams::kRank));
  std::string again;
  EXPECT_EQ(withMessagesInLine(inLine, again)->ranks, inLine->ranks);
  EXPECT_EQ(again, "");
}

/// Sets a variable of the environment while it lives.
class Setting {
 public:
  Setting(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Setting() { unsetenv(name_); }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;

 private:
  const char* name_;
};

TEST(TrainingPlanTest, PaddlePaddlesFlagCutsLastBackwardsInTwoUnder1F1BAlone) {
  std::string note;
  EXPECT_EQ(lastBackwardPartsOf({}, note), 1);
  EXPECT_EQ(note, "");
  const Setting flag("FLAGS_1f1b_backward_forward_overlap", "1");
  EXPECT_EQ(lastBackwardPartsOf({}, note), 2);
  EXPECT_THAT(note, HasSubstr("FLAGS_1f1b_backward_forward_overlap=1 is --last-backward-parts 2"));
  EXPECT_THAT(note, HasSubstr("PaddlePaddle cuts each backward that a forward follows"));
  EXPECT_EQ(note.find('\n'), std::string::npos);
  EXPECT_EQ(lastBackwardPartsOf({.plan = {.schedule = "gpipe"}}, note), 1);
  EXPECT_THAT(note, HasSubstr("has no effect with GPipe"));
  EXPECT_EQ(lastBackwardPartsOf({.plan = {.scheduleFile = "mine.csv"}}, note), 1);
  EXPECT_THAT(note, HasSubstr("has no effect with mine.csv"));
  note.clear();
  EXPECT_EQ(lastBackwardPartsOf({.plan = {.lastBackwardParts = 3}}, note), 3);
  EXPECT_EQ(note, "");
  const Setting off("FLAGS_1f1b_backward_forward_overlap", "0");
  EXPECT_EQ(lastBackwardPartsOf({}, note), 1);
  EXPECT_EQ(note, "");
}

TEST(TrainingPlanTest, AStageHasAsManyPartsAsBlocksWhereTheseAreFewer) {
  const Strategy strategy{.plan = {.ranks = 2, .microBatches = 2, .replicas = 2, .buckets = 3}};
  const CheckedPlan plan = withGradientsCut(planOf(strategy), strategy, 2, {.blocks = {4, 1}});
  const auto rowOf = [&](std::size_t rank) {
    std::string row;
    for (const Action& action : plan->ranks[rank]) row += toText(action) + ",";
    return row;
  };
  EXPECT_EQ(rowOf(0), "0F0,0F1,0B0,0B1.0,0REDUCE_GRAD0,0B1.1,0REDUCE_GRAD1,");
  EXPECT_EQ(rowOf(1), "1F0,1B0,1F1,1B1,1REDUCE_GRAD0,1REDUCE_GRAD1,1REDUCE_GRAD2,");
}

// All schedules, so that forwards are left whose order was made for more micro-batches.
TEST(TrainingPlanTest, ForwardsOfFewerMicroBatchesAreARightPlan) {
  for (const char* const name : {"1F1B", "Interleaved1F1B", "DualPipe", "ZBV", "PipeDream"}) {
    const CheckedPlan plan =
        planOf({.plan = {.schedule = name, .ranks = 4, .microBatches = 8, .replicas = 2}});
    for (int microBatches = 1; microBatches <= 8; ++microBatches) {
      const CheckedPlan forwards = forwardsOf(plan, microBatches);
      EXPECT_THAT(check(*forwards), IsEmpty()) << name;
      EXPECT_TRUE(forwards->isForwardOnly());
      EXPECT_EQ(forwards->numMicroBatches, 2 * microBatches);
      std::size_t count = 0;
      for (const auto& row : forwards->ranks) count += row.size();
      EXPECT_EQ(count, static_cast<std::size_t>(2 * microBatches * plan->numStages)) << name;
    }
  }
}

TEST(TrainingPlanTest, AModelAddsRecomputesAndNotes) {
  const Strategy strategy{.plan = {.ranks = 2, .microBatches = 2, .buckets = 2},
                          .recomputeRatio = 0.5};
  const TrainingPlan training = trainingPlanOf(strategy, 4, /*inLine=*/false);
  EXPECT_TRUE(training.plan->hasRecomputes());
  EXPECT_EQ(training.partition.blocks, (std::vector<int>{2, 2}));
  EXPECT_THAT(training.notes, ::testing::ElementsAre(HasSubstr("--buckets changes nothing")));
  EXPECT_FALSE(trainingPlanOf({.plan = {.ranks = 2}}, 4, false).plan->hasRecomputes());
  const auto ratiosWith = [](const char* partition) {
    const Strategy with{.plan = {.ranks = 2}, .partitionFile = partition, .recomputeRatio = 0.5};
    return trainingPlanOf(with, 4, false).partition.recomputeRatio;
  };
  EXPECT_EQ(ratiosWith(R"({"partition": [1, 3]})"), (std::vector<double>{0.5, 0.5}));
  EXPECT_EQ(ratiosWith(R"({"partition": [1, 3], "recompute_ratio": [0, 1]})"),
            (std::vector<double>{0, 1}));
  const Strategy inLine{.plan = {.schedule = "LoopedBFS", .ranks = 4, .microBatches = 8}};
  EXPECT_THAT(trainingPlanOf(inLine, 8, /*inLine=*/true).notes,
              ::testing::ElementsAre(HasSubstr("would deadlock")));
}

TEST(TrainingPlanTest, RanksThatWouldTrainOtherwiseHaveOtherFacts) {
  const auto factsWith = [](const Strategy& strategy) {
    return factsOf(trainingPlanOf(strategy, 8, false), strategy, 1);
  };
  const auto usual = factsWith({.plan = {.ranks = 2, .microBatches = 4}});
  EXPECT_EQ(factsWith({.plan = {.ranks = 2, .microBatches = 4}}), usual);
  for (const Strategy& other :
       {Strategy{.plan = {.schedule = "FThenB", .ranks = 2, .microBatches = 4}},
        Strategy{.plan = {.ranks = 2, .microBatches = 4}, .partition = {.blocks = {3, 5}}},
        Strategy{.plan = {.ranks = 2, .microBatches = 4}, .precision = Precision::kBf16},
        Strategy{.plan = {.ranks = 2, .microBatches = 4}, .precision = Precision::kFp16},
        Strategy{.plan = {.ranks = 2, .microBatches = 4}, .recomputeRatio = 0.5},
        Strategy{.plan = {.ranks = 2, .microBatches = 4}, .clipNorm = 0.1}}) {
    EXPECT_NE(factsWith(other), usual);
  }
}

TEST(TrainingPlanTest, StrategiesThatDoNotFitTheirPlanAreRefused) {
  const auto errorOf = [](const Strategy& strategy) {
    return testing::errorOf([&] { requireFits(strategy, *planOf(strategy)); });
  };
  EXPECT_THAT(errorOf({.stashUpdate = StashUpdate::kOldest}), HasSubstr("one version of them"));
  EXPECT_THAT(errorOf({.precision = Precision::kBf16, .lossScale = LossScale::fixed(8)}),
              HasSubstr("do not vanish in bf16"));
  EXPECT_THAT(errorOf({.plan = {.schedule = "PipeDream"}, .clipNorm = 1}),
              HasSubstr("--clip-grad-norm"));
  EXPECT_EQ(errorOf({.precision = Precision::kFp16}), "");
}

}  // namespace
}  // namespace pipetrace
