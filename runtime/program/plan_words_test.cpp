#include "runtime/program/plan_words.h"

#include <gmock/gmock.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include "schedule/build_schedule.h"

namespace pipetrace {
namespace {

constexpr int kMost = std::numeric_limits<int>::max();

TEST(PlanWordsTest, ASenderThatIsPastItsSendSendsTheMessageNoMore) {
  const CheckedPlan plan = buildSchedule("1F1B", 2, 2);
  const PlanWords words = wordsOf(plan, 2);
  // Rank 1 waits for the activations of micro-batch 1, the first or second receive of its program.
  ActionStatus waiting{.action = numberOfItem(5, 1), .awaited = {.peer = 0}};
  for (int transfer = 0; transfer < 8; ++transfer) {
    waiting.awaited.number = numberOfAwaited(Awaited::kMessage, transfer);
    if (words.message(1, waiting).find("activations of micro-batch 1") != std::string::npos) break;
  }
  EXPECT_EQ(words.message(1, waiting), "the activations of micro-batch 1 for stage 1 in step 5");
  ActionStatus inLine = waiting;
  inLine.awaited.number += numberOfAwaited(Awaited::kTurn, 0);
  EXPECT_EQ(words.message(1, inLine),
            "what comes in line before the activations of micro-batch 1 for stage 1 in step 5");
  const auto isSentFrom = [&](int step, const std::string& action) {
    for (std::size_t item = 0; item < 20; ++item) {
      const std::int64_t number = numberOfItem(step, item);
      if (words.action(0, {.action = number}) != action + " of step " + std::to_string(step))
        continue;
      return words.isStillSent(1, waiting, {.action = number});
    }
    ADD_FAILURE() << action;
    return false;
  };
  EXPECT_TRUE(words.isStillSent(1, waiting, {}));
  EXPECT_TRUE(isSentFrom(4, "the optimizer"));
  EXPECT_EQ(words.action(0, {.action = numberOfData(5)}), "data loading of step 5");
  EXPECT_TRUE(words.isStillSent(1, waiting, {.action = numberOfData(5)}));
  EXPECT_FALSE(words.isStillSent(1, waiting, {.action = numberOfData(6)}));
  EXPECT_TRUE(isSentFrom(5, "lr"));
  EXPECT_TRUE(isSentFrom(5, "0F1"));
  EXPECT_FALSE(isSentFrom(5, "0B0"));
  EXPECT_FALSE(isSentFrom(5, "the optimizer"));
  EXPECT_FALSE(isSentFrom(6, "lr"));
}

// Rank 1 of two has 4 transfers, so these are of no such plan.
TEST(PlanWordsTest, AMessageWithAHighNumberIsNotTakenForOneWithALowNumber) {
  const PlanWords words = wordsOf(buildSchedule("1F1B", 2, 2), 2);
  for (const int base : {1 << 22, 1 << 24, 1 << 30, kMost - 8}) {
    for (int transfer = 0; transfer < 8; ++transfer) {
      const ActionStatus waiting{
          .action = numberOfItem(5, 1),
          .awaited = {.peer = 0, .number = numberOfAwaited(Awaited::kMessage, base + transfer)}};
      EXPECT_EQ(words.message(1, waiting), "a message") << base << " + " << transfer;
      EXPECT_TRUE(words.isStillSent(1, waiting, {.action = numberOfItem(5, 20)}))
          << "the plan cannot tell";
    }
  }
}

TEST(PlanWordsTest, AnItemWithAHighNumberIsOfItsOwnStep) {
  const PlanWords words = wordsOf(buildSchedule("1F1B", 2, 2), 2);
  EXPECT_EQ(words.action(0, {.action = numberOfItem(5, (1 << 24) - 2)}), "the optimizer of step 5");
  for (const int item : {(1 << 24) - 1, 1 << 24, 1 << 30, kMost - 1}) {
    for (const int step : {0, 5, kMost}) {
      const auto place = static_cast<std::size_t>(item);
      EXPECT_EQ(words.action(0, {.action = numberOfItem(step, place)}),
                "the optimizer of step " + std::to_string(step));
    }
  }
}

TEST(PlanWordsTest, EveryNumberPassesThroughTheControlChannel) {
  for (const Awaited kind :
       {Awaited::kMessage, Awaited::kCredit, Awaited::kReceipt, Awaited::kSums}) {
    for (const int most : {0, 1 << 24, kMost}) {
      const std::int64_t action = numberOfItem(most, static_cast<std::size_t>(kMost) - 1);
      const std::uint64_t awaited = numberOfAwaited(kind, most);
      ActionProgress progress;
      progress.begin(action);
      progress.waitingFor(65'533, awaited);
      EXPECT_EQ(progress.look().action, action);
      EXPECT_EQ(progress.look().awaited, (AwaitedMessage{65'533, awaited}));
    }
  }
}

TEST(PlanWordsTest, SumsOfGradientsAreNamedByTheirStage) {
  const PlanWords words = wordsOf(buildSchedule("DualPipe", 4, 8), 2);
  const ActionStatus waiting{.action = numberOfItem(3, 1),
                             .awaited = {.peer = 2, .number = numberOfAwaited(Awaited::kSums, 1)}};
  EXPECT_EQ(words.message(1, waiting), "the sums of stage 1's gradients");
}

TEST(PlanWordsTest, ARankThatWaitsInAnEarlierStepIsReportedAtAnyStep) {
  const PlanWords words = wordsOf(buildSchedule("1F1B", 2, 2), 2);
  for (const int step : {1, 1 << 24, 1 << 30}) {
    const ActionStatus waiting{
        .action = numberOfItem(step, 1),
        .awaited = {.peer = 0, .number = numberOfAwaited(Awaited::kMessage, 0)}};
    EXPECT_EQ(words.message(1, waiting),
              "the activations of micro-batch 0 for stage 1 in step " + std::to_string(step));
    EXPECT_TRUE(words.isStillSent(1, waiting, {.action = numberOfItem(step - 1, 20)}));
    EXPECT_FALSE(words.isStillSent(1, waiting, {.action = numberOfItem(step + 1, 0)}));
    EXPECT_FALSE(words.isStillSent(1, waiting, {.action = numberOfItem(kMost, 0)}));
  }
}

}  // namespace
}  // namespace pipetrace
