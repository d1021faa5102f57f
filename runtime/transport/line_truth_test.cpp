// Messages on a line of each rank, as NCCL moves them, give training the bits of one process on the
// CPU. The backend is one of the tests, and finds what NCCL would answer with silence.
#include <gmock/gmock.h>

#include <algorithm>
#include <cctype>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "runtime/device/rank_device.h"
#include "runtime/stage_work.h"
#include "runtime/testing/device/test_programs.h"
#include "runtime/testing/line_ranks.h"
#include "runtime/testing/schedule_names.h"
#include "runtime/testing/training_case.h"
#include "schedule/build_schedule.h"
#include "schedule/with_recompute.h"
#include "schedule/with_replicas.h"

namespace pipetrace {
namespace {

using testing::CaseModel;
using ::testing::Each;
using ::testing::Eq;
using testing::inLine;
using ::testing::IsEmpty;
using testing::LineRank;
using ::testing::Not;
using testing::RankResult;
using testing::TrainingCase;

/// Trains on lines, each rank on a device of its own, or all on one.
struct LineTraining {
  bool onOneDevice = false;
  bool readsGradients = true;
  int ahead = 1000;
  bool isOverGloo = false;
  testing::Lines lines = testing::Lines::kOfRanks;
  std::function<std::unique_ptr<StageWork>(StageWork& inner, int rank)> around = {};
  std::vector<RankResult> results = {};
  std::int64_t moved = 0;

  std::vector<std::string> errorsOf(const TrainingCase& training, const CheckedPlan& plan) {
    results.resize(plan->ranks.size());
    const auto body = [&](const LineRank& rank) {
      const int own = rank.transport.rank();
      RankDevice device(testDevice(onOneDevice ? 0 : own), ahead);
      testing::OnDevice on{
          .device = &device, .control = rank.control, .readsGradients = readsGradients};
      if (around) on.around = [&](StageWork& inner) { return around(inner, own); };
      results[static_cast<std::size_t>(own)] = trainRank(training, plan, rank.transport, {}, on);
      if (own == 0) moved = rank.moved();
    };
    return isOverGloo ? testing::runOnLinesOverGloo(plan, body, lines)
                      : testing::runOnLines(plan, body, lines);
  }

  /// "" if all ranks have the bits of one process.
  std::string difference(const TrainingCase& training, const CheckedPlan& plan) {
    EXPECT_THAT(errorsOf(training, plan), Each(IsEmpty()));
    const std::vector<RankResult> alone = trainAlone(training, *plan);
    return testing::firstDifference(results, alone);
  }
};

/// The messages of a step: the plan's, and those of stages on two ranks. There each rank sends a
/// part of its gradients, and the sum of the other part.
std::int64_t messagesOf(const Plan& plan) {
  std::int64_t sends = plan.placement.hasSeveralRanks() ? 4 * plan.numStages : 0;
  for (const auto& actions : plan.ranks) {
    sends += std::count_if(actions.begin(), actions.end(),
                           [](const Action& action) { return isSend(action.kind); });
  }
  return sends;
}

using LineTruth = testing::FaultlessDeviceTest;

class EveryScheduleInLine : public LineTruth, public ::testing::WithParamInterface<std::string> {};

TEST_P(EveryScheduleInLine, HasTheBitsOfOneProcessAndAllItsMessagesButTheFirstStepsOnTheLine) {
  const CheckedPlan plan = inLine(buildSchedule(GetParam(), 4, 8));
  const TrainingCase training{.numStages = plan->numStages, .steps = 3};
  for (const bool onOneDevice : {false, true}) {
    LineTraining lines{.onOneDevice = onOneDevice};
    EXPECT_EQ(lines.difference(training, plan), "");
    EXPECT_EQ(lines.moved, 2 * messagesOf(*plan));
  }
}

INSTANTIATE_TEST_SUITE_P(All, EveryScheduleInLine,
                         ::testing::ValuesIn(testing::synchronousSchedules()),
                         [](const auto& test) { return testing::asTestName(test.param); });

TEST_F(LineTruth, ARichModelWithTiesAndTensorsPastTheNextStageHasThem) {
  for (const double recompute : {0.0, 0.6}) {
    const TrainingCase training{
        .rows = 16, .steps = 3, .model = CaseModel::kRich, .recompute = recompute};
    const std::vector<bool> again(4, recompute > 0);
    const CheckedPlan plan = inLine(withRecompute(buildSchedule("1F1B", 4, 8), again));
    EXPECT_EQ(LineTraining{}.difference(training, plan), "");
  }
}

TEST_F(LineTruth, MessagesInMixedPrecisionAndGradientsWithALossScaleHaveThem) {
  for (const char* const name : {"1F1B", "ZB-H1", "DualPipe"}) {
    const CheckedPlan plan = inLine(buildSchedule(name, 4, 8));
    TrainingCase training{.numStages = plan->numStages, .precision = Precision::kBf16};
    EXPECT_EQ(LineTraining{}.difference(training, plan), "") << name;
    training.precision = Precision::kFp16;
    training.lossScale = 512;
    EXPECT_EQ(LineTraining{}.difference(training, plan), "") << name;
  }
}

TEST_F(LineTruth, BatchesOfOtherRowsInEachStepHaveThem) {
  for (const char* const name : {"1F1B", "Interleaved1F1B", "DualPipe"}) {
    const CheckedPlan plan = inLine(buildSchedule(name, 4, 8));
    const TrainingCase training{
        .numStages = plan->numStages, .rowsOfSteps = {30, 41, 8, 30}, .steps = 4};
    EXPECT_EQ(LineTraining{}.difference(training, plan), "") << name;
  }
}

TEST_F(LineTruth, GlooOnTheHostGivesThemTheirFirstStepTheirTiesAndTheirRows) {
  for (const char* const name : {"1F1B", "DualPipe"}) {
    const CheckedPlan plan = inLine(buildSchedule(name, 4, 8));
    const TrainingCase training{
        .numStages = plan->numStages, .rowsOfSteps = {30, 41, 8}, .steps = 3};
    EXPECT_EQ(LineTraining{.isOverGloo = true}.difference(training, plan), "") << name;
  }
  const TrainingCase rich{.rows = 16, .steps = 3, .model = CaseModel::kRich};
  const CheckedPlan plan = inLine(buildSchedule("1F1B", 4, 8));
  EXPECT_EQ(LineTraining{.isOverGloo = true}.difference(rich, plan), "");
}

// Also where more than two ranks add up a stage's gradients in line.
TEST_F(LineTruth, ReplicasHaveThemWithEachItsOwnRows) {
  for (const char* const name : {"1F1B", "DualPipe"}) {
    const CheckedPlan plan = inLine(CheckedPlan(withReplicas(buildSchedule(name, 2, 4), 2)));
    const TrainingCase training{
        .numStages = plan->numStages, .microBatches = 4, .rowsOfSteps = {18, 21, 8}, .steps = 3};
    for (const bool isOverGloo : {false, true}) {
      EXPECT_EQ(LineTraining{.isOverGloo = isOverGloo}.difference(training, plan), "") << name;
    }
  }
}

// Such a plan deadlocks with one line a rank.
TEST_F(LineTruth, LanesWithALineOfTheirOwnRunPlansThatWouldDeadlockOnOne) {
  for (const char* const name : {"1F1B", "LoopedBFS", "ZBV", "DualPipe"}) {
    const CheckedPlan plan = buildSchedule(name, 4, 8);
    for (const bool isOverGloo : {false, true}) {
      LineTraining lines{.isOverGloo = isOverGloo, .lines = testing::Lines::kOfLanes};
      EXPECT_EQ(lines.difference({.numStages = plan->numStages, .steps = 3}, plan), "") << name;
      EXPECT_GT(lines.moved, 0);
    }
  }
}

/// Counts the host's waits from lr to optimizer, from the second step on.
class WaitCount : public ForwardingWork {
 public:
  WaitCount(StageWork& inner, std::int64_t& waits) : ForwardingWork(inner), waits_(waits) {}
  void lr(int step) override {
    ForwardingWork::lr(step);
    step_ = step;
    before_ = hostWaitsOf(std::this_thread::get_id()).total();
  }
  void optimizerStep() override {
    ForwardingWork::optimizerStep();
    if (step_ > 0) waits_ += hostWaitsOf(std::this_thread::get_id()).total() - before_;
  }

 private:
  std::int64_t& waits_;
  std::int64_t before_ = 0;
  int step_ = 0;
};

TEST_F(LineTruth, TheHostWaitsForTheDeviceOnlyWhereThereIsNoRoom) {
  for (const char* const name : {"1F1B", "ZBV", "DualPipe"}) {
    const CheckedPlan plan = inLine(buildSchedule(name, 4, 8));
    std::vector<std::int64_t> waits(plan->ranks.size());
    LineTraining lines{.around = [&](StageWork& inner, int rank) {
      return std::make_unique<WaitCount>(inner, waits[static_cast<std::size_t>(rank)]);
    }};
    EXPECT_THAT(lines.errorsOf({.numStages = plan->numStages}, plan), Each(IsEmpty()));
    EXPECT_THAT(waits, Each(Eq(0))) << name;
  }
}

/// Leaves out one wait, while it lives.
class WaitLeftOut {
 public:
  explicit WaitLeftOut(RankDevice::Order one) { RankDevice::leaveOut(one); }
  ~WaitLeftOut() { RankDevice::leaveOut(RankDevice::Order::kAll); }
  WaitLeftOut(const WaitLeftOut&) = delete;
  WaitLeftOut& operator=(const WaitLeftOut&) = delete;
};

TEST_F(LineTruth, EachWaitThatIsLeftOutOnALineIsMissed) {
  using enum RankDevice::Order;
  const CheckedPlan plan = inLine(buildSchedule("1F1B", 4, 8));
  for (const RankDevice::Order one : {kAll, kSend, kMessage, kMessageMemory}) {
    {
      const WaitLeftOut without(one);
      LineTraining{.readsGradients = false}.errorsOf({}, plan);
    }
    const std::vector<std::string> findings = takeTestDeviceFindings();
    EXPECT_EQ(findings.empty(), one == kAll) << static_cast<int>(one);
  }
}

}  // namespace
}  // namespace pipetrace
