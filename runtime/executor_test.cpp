#include "runtime/executor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "runtime/testing/listed_work.h"
#include "runtime/testing/run_ranks.h"
#include "runtime/testing/scripted_transport.h"
#include "runtime/transport/in_process.h"
#include "schedule/add_transfers.h"
#include "schedule/build_schedule.h"
#include "schedule/forward_part.h"
#include "schedule/with_recompute.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::ListedWork;
using testing::runConnected;
using testing::ScriptedTransport;
using testing::textsOf;
using ::testing::ThrowsMessage;
using testing::Wiring;

/// All schedules, with ranks and micro-batches that each of them can have. The stages of every
/// other plan but the first recompute.
std::vector<CheckedPlan> allPlans() {
  std::vector<CheckedPlan> plans;
  for (const std::string& name : scheduleNames()) {
    const Plan plan = buildSchedule(name, 4, 8);
    std::vector<bool> recomputed(static_cast<std::size_t>(plan.numStages), plans.size() % 2 == 1);
    recomputed[0] = false;
    plans.emplace_back(withRecompute(plan, recomputed));
  }
  return plans;
}

std::vector<ListedWork> runListed(const CheckedPlan& plan, int steps = 1) {
  std::vector<ListedWork> works(plan->ranks.size());
  const auto errors = runConnected(Wiring::kInProcess, plan->numRanks(), [&](Transport& transport) {
    Executor executor(plan, works[static_cast<std::size_t>(transport.rank())], transport);
    for (int step = 0; step < steps; ++step) executor.runStep(step);
    executor.finish();
  });
  for (const std::string& error : errors) EXPECT_EQ(error, "") << plan->name;
  return works;
}

TEST(ExecutorTest, APlanThatDeadlocksOnTheTransportsLinesIsRefusedBeforeAnythingRuns) {
  const CheckedPlan plan(addTransfers(buildSchedule("LoopedBFS", 4, 8), {.ahead = 0}));
  ScriptedTransport transport(0, 4);
  ListedWork work;
  for (const CommStreams lines : {CommStreams::kAsReached, CommStreams::kMessage}) {
    transport.commStreams_ = lines;
    EXPECT_NO_THROW(Executor(plan, work, transport));
  }
  transport.commStreams_ = CommStreams::kRank;
  EXPECT_THAT([&] { Executor(plan, work, transport); },
              ThrowsMessage<Error>(AllOf(HasSubstr("cannot run with its messages in line"),
                                         HasSubstr("that closes the cycle"))));
  EXPECT_THAT(work.list_, IsEmpty());
  EXPECT_TRUE(transport.posted_.empty());
}

TEST(ExecutorTest, EveryRankRunsItsActionsInThePlansOrder) {
  for (const CheckedPlan& plan : allPlans()) {
    const auto works = runListed(plan);
    for (int rank = 0; rank < 4; ++rank) {
      std::vector<std::string> ran;
      for (const std::string& call : works[static_cast<std::size_t>(rank)].list_) {
        if (!call.starts_with("update")) ran.push_back(call);
      }
      std::vector<std::string> expected = textsOf(*plan, rank);
      const bool trains = !plan->isForwardOnly();
      if (trains) expected.insert(expected.begin(), "lr 0");
      if (trains && !plan->isAsynchronous()) expected.emplace_back("optimizer");
      EXPECT_EQ(ran, expected) << plan->name << " rank " << rank;
    }
  }
}

TEST(ExecutorTest, SendsAndReceivesOfThePlanItselfAreRun) {
  const CheckedPlan plan = buildSchedule("1F1B", 3, 4);
  const CheckedPlan full = addTransfers(plan, {.ahead = 1});
  const auto works = runListed(full, 2);
  const auto same = runListed(plan, 2);
  for (std::size_t rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(works[rank].list_, same[rank].list_);
    EXPECT_EQ(works[rank].inputs_, same[rank].inputs_);
  }
}

TEST(ExecutorTest, DataParallelCellsArePassedOver) {
  const CheckedPlan plan = buildSchedule("1F1B", 3, 4);
  Plan with = *plan;
  for (auto& row : with.ranks) {
    const int stage = row.front().stage;
    row.insert(row.begin() + 3, {JobKind::kReshard, stage, -1});
    row.insert(row.begin(), {JobKind::kAllGather, stage, -1});
    row.push_back({JobKind::kReduceScatter, stage, -1});
  }
  const auto expected = runListed(plan, 2);
  for (const Plan& each : {with, addTransfers(CheckedPlan(with), {.ahead = 1})}) {
    const auto works = runListed(CheckedPlan(each), 2);
    for (std::size_t rank = 0; rank < 3; ++rank) {
      EXPECT_EQ(works[rank].list_, expected[rank].list_);
      EXPECT_EQ(works[rank].inputs_, expected[rank].inputs_);
    }
  }
}

TEST(ExecutorTest, WeightsChangeWithinThePlanWhereItHasNoFlush) {
  // PipeDream, two ranks: a stage's weights change after each of its backwards.
  const auto works = runListed(buildSchedule("PipeDream", 2, 2));
  EXPECT_THAT(works[1].list_,
              ElementsAre("lr 0", "1F0", "1B0", "update of 1", "1F1", "1B1", "update of 1"));
  // 2BW: after every group of two.
  Plan plan = buildSchedule("1F1B", 2, 4);
  plan.updates = WeightUpdates::alike(plan.numStages, 2, true);
  EXPECT_THAT(runListed(CheckedPlan(plan))[1].list_,
              ElementsAre("lr 0", "1F0", "1B0", "1F1", "1B1", "update of 1", "1F2", "1B2", "1F3",
                          "1B3", "update of 1"));
}

TEST(ExecutorTest, EveryJobGetsTheMessageThatIsForIt) {
  for (const CheckedPlan& plan : allPlans()) {
    const auto works = runListed(plan, 2);
    std::map<std::string, Nanoseconds> got;
    for (const ListedWork& work : works) {
      for (const auto& [job, message] : work.inputs_) {
        EXPECT_TRUE(got.emplace(job, message).second) << job << " ran on two ranks";
      }
    }
    std::map<std::string, Nanoseconds> expected;
    for (int stage = 0; stage < plan->numStages; ++stage) {
      for (int mb = 0; mb < plan->numMicroBatches; ++mb) {
        const bool isLast = stage == plan->numStages - 1;
        expected[toText(Action{JobKind::kForward, stage, mb})] =
            stage == 0 ? 0 : 1000 + 10 * (stage - 1) + mb;
        if (plan->isForwardOnly()) continue;
        expected[toText(Action{JobKind::kBackward, stage, mb})] =
            isLast ? 0 : 2000 + 10 * (stage + 1) + mb;
      }
    }
    EXPECT_EQ(got, expected) << plan->name;
  }
}

/// A plan of two ranks that only runs forward.
CheckedPlan forwardsOf(int microBatches, int credits) {
  Plan plan = forwardPart(buildSchedule("1F1B", 2, microBatches));
  plan.credits = credits;
  return plan;
}

class CreditsTest : public ::testing::TestWithParam<Wiring> {};

TEST_P(CreditsTest, ARankIsNoMoreThanItsCreditsAhead) {
  constexpr int kCredits = 3;
  static std::atomic<int> used;
  static std::atomic<int> mostAhead;
  class SlowLastStage : public ListedWork {
   public:
    Message forward(int stage, int microBatch, Message input) override {
      Message result = ListedWork::forward(stage, microBatch, std::move(input));
      if (stage == 1) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        ++used;
      } else {
        // This message waits for its credit after the job, so it is not counted.
        mostAhead = std::max<int>(mostAhead, forwards_++ - used);
      }
      return result;
    }

   private:
    int forwards_ = 0;
  };
  for (const int credits : {kCredits, 0, 100}) {
    used = mostAhead = 0;
    const CheckedPlan plan = forwardsOf(8, credits);
    const auto errors = runConnected(GetParam(), 2, [&](Transport& transport) {
      SlowLastStage work;
      Executor executor(plan, work, transport);
      for (int step = 0; step < 4; ++step) executor.runStep(step);
      executor.finish();
    });
    EXPECT_EQ(errors[0] + errors[1], "");
    EXPECT_EQ(used, 32);
    if (credits == kCredits) {
      EXPECT_LE(mostAhead, kCredits + 1) << "the last action may have ended and not be counted";
    } else {
      EXPECT_GE(mostAhead, 8 - 1);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, CreditsTest, ::testing::Values(Wiring::kInProcess, Wiring::kGloo),
                         [](const auto& test) {
                           return test.param == Wiring::kGloo ? "Gloo" : "InProcess";
                         });

// Three forwards and three backwards of 5 ms on each rank, and an optimizer that takes 50.
TEST(ExecutorTest, TheTimeOfItsActionsIsCountedWithoutTheStepsEdges) {
  struct SlowWork : ListedWork {
    Message forward(int stage, int microBatch, Message input) override {
      sleep(5);
      return ListedWork::forward(stage, microBatch, std::move(input));
    }
    Message backward(int stage, int microBatch, Message gradient) override {
      sleep(5);
      return ListedWork::backward(stage, microBatch, std::move(gradient));
    }
    void optimizerStep() override { sleep(50); }
    static void sleep(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }
  };
  const auto errors = runConnected(Wiring::kInProcess, 2, [&](Transport& transport) {
    SlowWork work;
    Executor executor(buildSchedule("GPipe", 2, 3), work, transport);
    EXPECT_EQ(executor.computed(), 0);
    executor.runStep(0);
    EXPECT_GE(executor.computed(), 30 * kNsPerMs);
    EXPECT_LT(executor.computed(), 75 * kNsPerMs);
    executor.finish();
  });
  EXPECT_EQ(errors[0] + errors[1], "");
}

TEST(ExecutorTest, AReceiveIsPostedWhileTheActionBeforeRuns) {
  // Rank 1 of 2 under FThenB: 1F0 1F1 … The receive for 1F1 has to be posted before 1F0 runs.
  class WaitingWork : public ListedWork {
   public:
    explicit WaitingWork(ScriptedTransport& transport) : transport_(transport) {}
    Message forward(int stage, int microBatch, Message input) override {
      const auto isPosted = [&](int number) {
        return transport_.posted_.contains({.step = 0, .stage = 1, .microBatch = number});
      };
      EXPECT_TRUE(microBatch == 3 || isPosted(microBatch + 1)) << microBatch;
      EXPECT_FALSE(isPosted(microBatch + 2)) << "two ahead";
      return ListedWork::forward(stage, microBatch, std::move(input));
    }

   private:
    ScriptedTransport& transport_;
  };
  ScriptedTransport transport(1, 2);
  WaitingWork work(transport);
  Executor executor(buildSchedule("FThenB", 2, 4), work, transport);
  executor.runStep(0);
  transport.release();
  executor.finish();
}

TEST(ExecutorTest, ASendThatNobodyTakesHoldsUpNoJob) {
  ScriptedTransport transport(1, 3);
  ListedWork work;
  Executor executor(buildSchedule("1F1B", 3, 4), work, transport);
  executor.runStep(0);
  EXPECT_EQ(work.list_.size(), 10U);
  EXPECT_EQ(transport.sent_.size(), 8U);
  transport.release();
  executor.finish();
}

TEST(ExecutorTest, AFailedJobStopsThePeersAndIsRethrown) {
  class FailingWork : public ListedWork {
   public:
    Message backward(int, int, Message) override { throw Error("out of memory"); }
  };
  const CheckedPlan plan = buildSchedule("1F1B", 2, 4);
  const auto errors = runConnected(Wiring::kInProcess, 2, [&](Transport& transport) {
    ListedWork good;
    FailingWork bad;
    StageWork& work = transport.rank() == 1 ? static_cast<StageWork&>(bad) : good;
    Executor executor(plan, work, transport);
    executor.runStep(0);
    executor.finish();
  });
  EXPECT_EQ(errors[1], "out of memory");
  EXPECT_THAT(errors[0], HasSubstr("rank 1 failed: out of memory"));
}

TEST(ExecutorTest, APlanThatDoesNotFitIsRefused) {
  ScriptedTransport transport(1, 3);
  ListedWork work;
  EXPECT_THROW(Executor(buildSchedule("1F1B", 4, 4), work, transport), Error);
  Plan deadlock = buildSchedule("1F1B", 3, 4);
  std::swap(deadlock.ranks[2].front(), deadlock.ranks[2].back());
  EXPECT_THROW(Executor(CheckedPlan(deadlock), work, transport), Error);
}

TEST(ExecutorTest, APlanThatWouldGetStuckWhereSendsWaitIsRefused) {
  ScriptedTransport transport(0, 2);
  transport.blocks_ = true;
  ListedWork work;
  for (const char* name : {"1F1B", "FThenB", "GPipe", "ZB-H1"}) {
    EXPECT_NO_THROW(Executor(buildSchedule(name, 2, 6), work, transport)) << name;
  }
  // Receives posted at the last moment: both ranks send before they receive.
  const Plan plan = addTransfers(buildSchedule("1F1B", 2, 2), {.ahead = 0});
  EXPECT_THROW(
      {
        try {
          Executor(CheckedPlan(plan), work, transport);
        } catch (const Error& error) {
          EXPECT_THAT(error.what(),
                      HasSubstr("where each send waits for its receive: rank 0, cell 3: deadlock: "
                                "0SEND_F1 (rank 0, cell 3) waits for "));
          throw;
        }
      },
      Error);
}

}  // namespace
}  // namespace pipetrace
