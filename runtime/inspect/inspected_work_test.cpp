// Looking at a training changes none of its bits, and shows what was sent.
#include "runtime/inspect/inspected_work.h"

#include <ATen/ops/full.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>

#include <memory>
#include <mutex>
#include <set>

#include "runtime/executor.h"
#include "runtime/rehearse/chain_work.h"
#include "runtime/testing/error_of.h"
#include "runtime/testing/run_ranks.h"
#include "runtime/testing/training_case.h"
#include "schedule/build_schedule.h"
#include "schedule/with_replicas.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::RankResult;
using testing::TrainingCase;
using testing::Wiring;

using ShapeOfSent = std::vector<std::int64_t>;

/// Sends 100 · stage + micro-batch and, back, minus that; its only parameter's gradient grows by 3
/// in each backward and is never cleared.
class NumberWork : public ChainWork {
 public:
  void lr(int /*step*/) override {}
  void optimizerStep() override {}
  Message forward(int stage, int microBatch, Message /*input*/) override {
    return {.tensor = at::full({2, 3}, 100.0 * stage + microBatch)};
  }
  Message backward(int stage, int microBatch, Message /*gradient*/) override {
    grow();
    return {.tensor = at::full({4}, -100.0 * stage - microBatch, at::kHalf)};
  }
  NamedParameters parameters(int stage) const {
    return {{std::to_string(stage) + ".weight", parameter_}};
  }

 private:
  void grow() {
    at::Tensor& sum = parameter_.mutable_grad();
    sum = sum.defined() ? sum + 3 : at::full_like(parameter_, 3);
  }

  at::Tensor parameter_ = at::zeros({1});
};

/// Runs that number of steps and returns what each rank sees.
std::vector<std::vector<StepInspection>> seenByRanks(const CheckedPlan& plan, int steps,
                                                     int every) {
  std::vector<std::vector<StepInspection>> seen(plan->ranks.size());
  const auto errors = runConnected(Wiring::kInProcess, plan->numRanks(), [&](Transport& transport) {
    NumberWork work;
    InspectedWork inspected(
        work, {.every = every, .rank = transport.rank(), .parameters = [&](int stage) {
                 return work.parameters(stage);
               }});
    Executor executor(plan, inspected, transport, {}, {});
    for (int step = 0; step < steps; ++step) {
      executor.runStep(step);
      if (auto one = inspected.take()) {
        seen[static_cast<std::size_t>(transport.rank())].push_back(*one);
      }
      EXPECT_FALSE(inspected.take()) << "it is there once";
    }
    executor.finish();
  });
  EXPECT_THAT(errors, Each(IsEmpty()));
  return seen;
}

TEST(InspectedWorkTest, EachTensorThatAStageSendsHasItsFigures) {
  const auto seen = seenByRanks(CheckedPlan(withReplicas(buildSchedule("1F1B", 2, 3), 2)), 1, 1);
  for (const int replica : {0, 1}) {
    const auto first = static_cast<std::size_t>(2 * replica);
    for (const int stage : {0, 1}) {
      const std::vector<SentTensor>& sent = seen[first + static_cast<std::size_t>(stage)][0].sent;
      ASSERT_EQ(sent.size(), 3U) << stage;
      for (int microBatch = 0; microBatch < 3; ++microBatch) {
        const SentTensor& one = sent[static_cast<std::size_t>(microBatch)];
        EXPECT_EQ(one.kind, stage == 0 ? JobKind::kSendForward : JobKind::kSendBackward);
        EXPECT_EQ(one.stage, stage);
        EXPECT_EQ(one.toStage, 1 - stage);
        EXPECT_EQ(one.microBatch, microBatch) << "of the replica";
        EXPECT_EQ(one.type, stage == 0 ? at::kFloat : at::kHalf);
        EXPECT_EQ(one.shape, stage == 0 ? (ShapeOfSent{2, 3}) : (ShapeOfSent{4}));
        const double value =
            stage == 0 ? 3 * replica + microBatch : -100 - 3 * replica - microBatch;
        ASSERT_TRUE(one.figures);
        EXPECT_EQ(one.figures->mean, value);
        EXPECT_EQ(one.figures->deviation, 0);
        EXPECT_EQ(one.figures->least, value);
        EXPECT_EQ(one.figures->greatest, value);
      }
    }
  }
}

TEST(InspectedWorkTest, GradientsAreThoseBeforeTheFirstAndAfterTheLastBackwardOfTheirStage) {
  for (const char* const name : {"1F1B", "ZB-H1"}) {
    for (const std::vector<StepInspection>& ofRank : seenByRanks(buildSchedule(name, 2, 4), 3, 2)) {
      ASSERT_EQ(ofRank.size(), 2U) << "steps 0 and 2";
      EXPECT_EQ(ofRank[1].step, 2);
      ASSERT_EQ(ofRank[0].gradients.size(), 1U);
      EXPECT_FALSE(ofRank[0].gradients[0].before) << "nobody made one";
      EXPECT_EQ(ofRank[0].gradients[0].after, 4 * 3) << name;
      EXPECT_EQ(ofRank[1].gradients[0].before, 2 * 4 * 3) << "two steps later";
      EXPECT_EQ(ofRank[1].gradients[0].after, 3 * 4 * 3);
    }
  }
}

TEST(InspectedWorkTest, LessThanEveryStepIsRefused) {
  NumberWork work;
  EXPECT_THAT(testing::errorOf([&] { InspectedWork(work, {.every = 0}); }),
              HasSubstr("cannot inspect every 0 steps"));
}

struct InspectedCase {
  const char* schedule;
  int replicas = 1;
  Wiring wiring = Wiring::kInProcess;
  Precision precision = Precision::kFp32;
};

TEST(InspectedWorkTest, ATrainingThatIsLookedAtHasTheBitsOfOneProcess) {
  for (const InspectedCase& one :
       {InspectedCase{"1F1B"}, InspectedCase{"ZBV"}, InspectedCase{"DualPipe", 2},
        InspectedCase{"1F1B", 2, Wiring::kGloo},
        InspectedCase{"1F1B", 1, Wiring::kInProcess, Precision::kFp16}}) {
    const CheckedPlan plan(withReplicas(buildSchedule(one.schedule, 2, 4), one.replicas));
    const bool isFp16 = one.precision == Precision::kFp16;
    const TrainingCase training{
        .numStages = plan->numStages,
        .microBatches = 4,
        .rows = 16,
        .model = plan->numStages == 2 ? testing::CaseModel::kRich : testing::CaseModel::kMlp,
        .precision = one.precision,
        .lossScale = isFp16 ? 512.0 : 1.0};
    std::vector<RankResult> results(plan->ranks.size());
    std::mutex mutex;
    std::set<int> steps;
    std::size_t tensors = 0;
    const auto errors = runConnected(one.wiring, plan->numRanks(), [&](Transport& transport) {
      const auto look = [&](const StepInspection& step) {
        const std::lock_guard lock(mutex);
        steps.insert(step.step);
        tensors += step.sent.size();
        EXPECT_EQ(step.lossScale, training.lossScale);
        for (const SentTensor& sent : step.sent) EXPECT_TRUE(sent.figures);
        for (const GradientNorm& gradient : step.gradients) EXPECT_FALSE(gradient.before);
      };
      results[static_cast<std::size_t>(transport.rank())] =
          trainRank(training, plan, transport, {}, {.inspectEvery = 2, .inspected = look});
    });
    EXPECT_THAT(errors, Each(IsEmpty()));
    EXPECT_EQ(testing::firstDifference(results, trainAlone(training, *plan)), "") << one.schedule;
    EXPECT_THAT(steps, ElementsAre(0, 2));
    EXPECT_GE(tensors, static_cast<std::size_t>(2 * 2 * 4 * (plan->numStages - 1) * one.replicas));
  }
}

// One copy of each stage, no ties: what a rank's backwards leave is what the optimizer gets.
TEST(InspectedWorkTest, NormsAfterTheBackwardsAreThoseOfOneProcess) {
  const CheckedPlan plan = buildSchedule("1F1B", 2, 4);
  const TrainingCase training{.numStages = 2, .microBatches = 4, .steps = 1};
  std::vector<std::vector<GradientNorm>> gradients(2);
  runConnected(Wiring::kInProcess, 2, [&](Transport& transport) {
    trainRank(training, plan, transport, {},
              {.inspectEvery = 1, .inspected = [&](const StepInspection& step) {
                 gradients[static_cast<std::size_t>(transport.rank())] = step.gradients;
               }});
  });
  const std::vector<RankResult> alone = trainAlone(training, *plan);
  for (std::size_t rank = 0; rank < 2; ++rank) {
    ASSERT_FALSE(gradients[rank].empty());
    const std::size_t losses = rank == 1 ? 1 : 0;  // the gradients follow
    for (std::size_t i = 0; i < gradients[rank].size(); ++i) {
      const double norm = alone[rank][losses + i].to(at::kDouble).norm().item<double>();
      EXPECT_EQ(gradients[rank][i].stage, static_cast<int>(rank));
      ASSERT_TRUE(gradients[rank][i].after);
      EXPECT_NEAR(*gradients[rank][i].after, norm, 1e-12 * norm) << gradients[rank][i].parameter;
    }
  }
}

}  // namespace
}  // namespace pipetrace
