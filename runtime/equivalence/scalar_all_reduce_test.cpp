// All ranks agree before the optimizer's step: on the norm by which gradients are clipped, and on
// whether there is a step.
#include <ATen/ops/full.h>
#include <gmock/gmock.h>
#include <torch/optim/sgd.h>

#include <limits>
#include <map>
#include <string>
#include <vector>

#include "runtime/executor.h"
#include "runtime/stage_work.h"

#include "runtime/testing/run_ranks.h"
#include "runtime/testing/training_case.h"
#include "runtime/testing/training_parts.h"
#include "runtime/train/torch_work.h"
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

std::vector<RankResult> trainTogether(Wiring wiring, const TrainingCase& training,
                                      const CheckedPlan& plan) {
  std::vector<RankResult> results(plan->ranks.size());
  const auto errors = runConnected(wiring, plan->numRanks(), [&](Transport& transport) {
    results[static_cast<std::size_t>(transport.rank())] = trainRank(training, plan, transport);
  });
  EXPECT_THAT(errors, Each(IsEmpty()));
  return results;
}

/// The losses and norms of a run's steps, in turn.
std::vector<double> lossesAndNorms(const std::vector<RankResult>& results, const Plan& plan) {
  std::vector<double> all;
  for (const at::Tensor& tensor : results[static_cast<std::size_t>(plan.lastRankOf(0))]) {
    if (tensor.dim() == 0 && tensor.scalar_type() == at::kDouble) {
      all.push_back(tensor.item<double>());
    }
  }
  return all;
}

TrainingCase clippedCase(int stages) {
  return {.numStages = stages, .steps = 4, .model = testing::CaseModel::kRich, .clipNorm = 0.5};
}

// The rich model has tied weights: they count once.
TEST(Clipping, HasTheBitsOfOneProcessAndTheSameNormForEveryNumberOfRanks) {
  std::map<int, std::vector<double>> byRanks;
  for (const int ranks : {1, 2, 4}) {
    const CheckedPlan plan = buildSchedule("1F1B", ranks, 8);
    const TrainingCase training = clippedCase(ranks);
    const auto results = trainTogether(Wiring::kInProcess, training, plan);
    EXPECT_EQ(testing::firstDifference(results, trainAlone(training, *plan)), "") << ranks;
    byRanks[ranks] = lossesAndNorms(results, *plan);
  }
  ASSERT_EQ(byRanks[1].size(), 8U);
  for (std::size_t step = 0; step < 4; ++step) EXPECT_GT(byRanks[1][2 * step + 1], 0.5) << step;
  EXPECT_EQ(byRanks[2], byRanks[1]);
  EXPECT_EQ(byRanks[4], byRanks[1]);
}

TEST(Clipping, ReplicasWithPartsOfABatchTrainAsOneWithAllOfIt) {
  const CheckedPlan one = buildSchedule("1F1B", 2, 8);
  const CheckedPlan two(withReplicas(buildSchedule("1F1B", 2, 4), 2));
  TrainingCase training = clippedCase(2);
  const auto alone = lossesAndNorms(trainTogether(Wiring::kInProcess, training, one), *one);
  training.microBatches = 4;
  training.rows = 16;
  training.batchParts = 2;
  const auto results = trainTogether(Wiring::kInProcess, training, two);
  EXPECT_EQ(testing::firstDifference(results, trainAlone(training, *two)), "");
  const auto replicas = lossesAndNorms(results, *two);
  ASSERT_EQ(replicas.size(), alone.size());
  for (std::size_t i = 0; i < alone.size(); ++i) EXPECT_NEAR(replicas[i], alone[i], 1e-6) << i;
}

TEST(Clipping, HasTheBitsOfOneProcessOverGlooAndWhereAStageHasTwoRanks) {
  const CheckedPlan pipeline = buildSchedule("1F1B", 2, 4);
  const CheckedPlan both = buildSchedule("DualPipe", 2, 4);
  for (const auto& [wiring, plan] :
       {std::pair{Wiring::kGloo, pipeline}, {Wiring::kInProcess, both}}) {
    TrainingCase training = clippedCase(2);
    training.microBatches = 4;
    EXPECT_EQ(testing::firstDifference(trainTogether(wiring, training, plan),
                                       trainAlone(training, *plan)),
              "");
  }
}

/// Trains with a dynamic loss scale. One rank has an infinite gradient in one step.
class OverflowingRank : public ForwardingWork {
 public:
  OverflowingRank(TorchWork& inner, bool overflows) : ForwardingWork(inner), inner_(inner) {
    overflows_ = overflows;
  }
  void beginStep(int step) override {
    step_ = step;
    ForwardingWork::beginStep(step);
  }
  std::vector<std::vector<double>> scalarAllReduceTerms(const std::vector<int>& stages) override {
    if (overflows_ && step_ == 1) {
      at::Tensor(inner_.parameters().back())
          .mutable_grad()
          .fill_(std::numeric_limits<float>::infinity());
    }
    return ForwardingWork::scalarAllReduceTerms(stages);
  }

 private:
  TorchWork& inner_;
  bool overflows_ = false;
  int step_ = 0;
};

struct DynamicRank {
  std::vector<RankResult> weights;  // after each step
  std::vector<double> scales;
};

DynamicRank trainDynamic(const CheckedPlan& plan, Transport& transport, int overflowingRank) {
  const TrainingCase training{.precision = Precision::kFp16};
  const int rank = transport.rank();
  TorchWork torchWork({.model = modelOf(training),
                       .partition = partitionOf(training),
                       .numMicroBatches = 8,
                       .seed = 7,
                       .optimizer =
                           [](const NamedParameters& parameters) {
                             return std::make_unique<torch::optim::SGD>(
                                 tensorsOf(parameters), torch::optim::SGDOptions(0.1));
                           },
                       .precision = Precision::kFp16,
                       .lossScale = LossScale::dynamic()},
                      plan->stagesOfRank(rank));
  OverflowingRank work(torchWork, rank == overflowingRank);
  Executor executor(plan, work, transport);
  DynamicRank result;
  for (int step = 0; step < 3; ++step) {
    torchWork.load(testing::batchOf(training, step, 0));
    executor.runStep(step);
    testing::appendParameters(result.weights.emplace_back(), torchWork.parameters());
    result.scales.push_back(torchWork.agreement().lossScale().value());
  }
  executor.finish();
  return result;
}

TEST(DynamicLossScale, AnOverflowOnOneRankLeavesOutTheStepOnAllAndHalvesTheScale) {
  const CheckedPlan plan = buildSchedule("1F1B", 4, 8);
  for (const int overflowing : {0, 2}) {
    std::vector<DynamicRank> results(4);
    const auto errors = runConnected(Wiring::kInProcess, 4, [&](Transport& transport) {
      results[static_cast<std::size_t>(transport.rank())] =
          trainDynamic(plan, transport, overflowing);
    });
    EXPECT_THAT(errors, Each(IsEmpty()));
    for (const DynamicRank& rank : results) {
      EXPECT_THAT(rank.scales, ElementsAre(65'536, 32'768, 32'768));
      EXPECT_EQ(testing::firstDifference(rank.weights[1], rank.weights[0]), "");
      EXPECT_NE(testing::firstDifference(rank.weights[2], rank.weights[1]), "");
    }
  }
}

TEST(DynamicLossScale, ARankThatFailsBeforeTheAgreementEndsTheOthers) {
  class Failing : public ForwardingWork {
   public:
    using ForwardingWork::ForwardingWork;
    std::vector<std::vector<double>> scalarAllReduceTerms(const std::vector<int>&) override {
      throw Error("no gradients left");
    }
  };
  const CheckedPlan plan = buildSchedule("1F1B", 3, 4);
  const TrainingCase training{.numStages = 3, .microBatches = 4, .clipNorm = 1};
  const auto errors = runConnected(Wiring::kInProcess, 3, [&](Transport& transport) {
    testing::OnDevice on;
    if (transport.rank() == 1) {
      on.around = [](StageWork& inner) { return std::make_unique<Failing>(inner); };
    }
    trainRank(training, plan, transport, {}, on);
  });
  for (const std::string& error : errors) EXPECT_THAT(error, HasSubstr("no gradients left"));
}

}  // namespace
}  // namespace pipetrace
