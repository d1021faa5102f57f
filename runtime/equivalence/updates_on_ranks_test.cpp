// Trains without a flush, with stages on several ranks and in replicas. The bits are those of one
// process that keeps all versions of the weights, and adds the ranks' gradients in their order.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/mse_loss.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros_like.h>
#include <gmock/gmock.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/normalization.h>
#include <torch/optim/adam.h>
#include <torch/utils.h>

#include <algorithm>
#include <map>

#include "runtime/executor.h"
#include "runtime/testing/error_of.h"
#include "runtime/testing/run_ranks.h"
#include "runtime/testing/scripted_transport.h"
#include "runtime/train/torch_work.h"
#include "schedule/build_schedule.h"
#include "schedule/with_replicas.h"

namespace pipetrace {
namespace {

using testing::errorOf;
using ::testing::HasSubstr;
using testing::runConnected;
using testing::Wiring;

using RankMap = std::vector<std::vector<int>>;

constexpr int kStepsOfCase = 2;
constexpr int kWidthOfLayers = 6;
constexpr std::uint64_t kSeedOfCase = 3;

/// A training, with numbers that its plan must keep to.
struct RanksCase {
  Wiring wiring = Wiring::kInProcess;
  const char* schedule = "PipeDream";
  RankMap map;
  std::vector<int> warmUps;  ///< by stage: forwards before the one that the first backward follows
  std::vector<int> every;    ///< by stage: micro-batches of an update, in a replica
  int microBatches = 0;
  int rows = 0;  ///< of a replica
  int replicas = 1;
  std::vector<int> depths = {};

  bool is2bw() const { return std::string(schedule) == "PipeDream-2BW"; }
};

Model layersOf(std::size_t stages) {
  const LayerMaker layer = [] {
    return std::vector{
        torch::nn::AnyModule(torch::nn::LayerNorm(torch::nn::LayerNormOptions({kWidthOfLayers}))),
        torch::nn::AnyModule(Linear(kWidthOfLayers, kWidthOfLayers)),
        torch::nn::AnyModule(torch::nn::Tanh())};
  };
  return chainModel(std::vector<LayerMaker>(stages, layer),
                    [](const at::Tensor& a, const at::Tensor& b) { return at::mse_loss(a, b); });
}

Batch batchOf(const RanksCase& each, int step, int replica) {
  at::Generator random = at::make_generator<at::CPUGeneratorImpl>(
      7 + static_cast<std::uint64_t>(step + 100 * replica));
  return {{"inputs", at::randn({each.rows, kWidthOfLayers}, random)},
          {"targets", at::randn({each.rows, kWidthOfLayers}, random)}};
}

std::unique_ptr<torch::optim::Optimizer> adamFor(std::vector<at::Tensor> parameters) {
  return std::make_unique<torch::optim::Adam>(std::move(parameters),
                                              torch::optim::AdamOptions(0.05));
}

/// The parameters by rank after the last step, and the losses.
struct Result {
  std::vector<Tensors> parameters;
  std::vector<double> losses;
};

Result trained(const RanksCase& each, const CheckedPlan& plan) {
  Result result{.parameters = std::vector<Tensors>(plan->ranks.size())};
  const auto errors = runConnected(each.wiring, plan->numRanks(), [&](Transport& transport) {
    torch::set_num_threads(1);
    const int rank = transport.rank();
    const int replica = plan->replicaOf(rank);
    const bool reports = rank == plan->lastRankOf(0);
    TorchWork work({.model = layersOf(each.map.size()),
                    .partition = {.blocks = std::vector<int>(each.map.size(), 1)},
                    .numMicroBatches = each.microBatches,
                    .replica = replica,
                    .seed = kSeedOfCase,
                    .optimizer = [](const NamedParameters& all) { return adamFor(tensorsOf(all)); },
                    .reportsLoss = reports},
                   plan->stagesOfRank(rank));
    Executor executor(plan, work, transport);
    for (int step = 0; step < kStepsOfCase; ++step) {
      work.load(batchOf(each, step, replica));
      executor.runStep(step);
      if (reports) result.losses.push_back(work.loss().value());
    }
    executor.finish();
    for (const at::Tensor& parameter : work.parameters()) {
      result.parameters[static_cast<std::size_t>(rank)].push_back(parameter.detach().clone());
    }
    EXPECT_EQ(work.liveMicroBatches().size(), 0U);
  });
  for (const std::string& error : errors) EXPECT_EQ(error, "");
  return result;
}

/// One stage of the process that trains alone.
struct VersionedStage {
  std::shared_ptr<BlockModule> block;
  Tensors masters;
  std::unique_ptr<torch::optim::Optimizer> optimizer;
  std::vector<Tensors> versions;      ///< of this step
  std::map<int, Tensors> sumsOfRank;  ///< by rank: of the update to come
  at::Tensor input;
  at::Tensor output;

  Tensors copy() const {
    Tensors all;
    for (const at::Tensor& master : masters) all.push_back(master.detach().clone());
    return all;
  }
};

class VersionedAlone {
 public:
  explicit VersionedAlone(const RanksCase& each)
      : each_(each), model_(layersOf(each.map.size())), stages_(each.map.size()) {
    torch::set_num_threads(1);
    for (const std::vector<int>& ranks : each.map) ranks_ += static_cast<int>(ranks.size());
    for (std::size_t s = 0; s < stages_.size(); ++s) {
      VersionedStage& stage = stages_[s];
      stage.block = makeBlock(model_, static_cast<int>(s), kSeedOfCase);
      for (const at::Tensor& p : stage.block->parameters()) {
        stage.masters.push_back(p.detach().clone().requires_grad_());
      }
      stage.optimizer = adamFor(stage.masters);
    }
  }

  Result train() {
    Result result{.parameters =
                      std::vector<Tensors>(static_cast<std::size_t>(ranks_ * each_.replicas))};
    for (int step = 0; step < kStepsOfCase; ++step) {
      double loss = 0;
      for (VersionedStage& stage : stages_) stage.versions = {stage.copy()};
      for (int m = 0; m < each_.microBatches; ++m) {
        for (int d = 0; d < each_.replicas; ++d) loss += run(step, d, m);
        for (std::size_t s = 0; s < stages_.size(); ++s) {
          const bool isLast = m + 1 == each_.microBatches;
          if (isLast || (m + 1) % each_.every[s] == 0) update(s);
        }
      }
      result.losses.push_back(loss);
    }
    for (std::size_t s = 0; s < stages_.size(); ++s) {
      for (int d = 0; d < each_.replicas; ++d) {
        for (const int rank : each_.map[s]) {
          result.parameters[static_cast<std::size_t>(d * ranks_ + rank)] = stages_[s].copy();
        }
      }
    }
    return result;
  }

 private:
  /// Updates that the rank of a micro-batch has done before its forward.
  int versionUsed(std::size_t s, int m) const {
    if (each_.is2bw()) return std::max(0, m / each_.every[s] - 1);
    return std::max(0, m / static_cast<int>(each_.map[s].size()) - each_.warmUps[s]);
  }

  /// The micro-batches of a replica that the stage's update for this one has.
  std::vector<int> updateOf(std::size_t s, int m) const {
    std::vector<int> all;
    for (int other = 0; other < each_.microBatches; ++other) {
      if (other / each_.every[s] == m / each_.every[s]) all.push_back(other);
    }
    return all;
  }

  /// Forward and backward of a micro-batch. Returns its part of the loss.
  double run(int step, int replica, int m) {
    const Batch batch = batchOf(each_, step, replica);
    const auto part = [&](const char* name) {
      return batch.at(name).tensor_split(each_.microBatches)[static_cast<std::size_t>(m)];
    };
    const auto rowsOf = [&](int other) {
      return each_.rows / each_.microBatches + (other < each_.rows % each_.microBatches ? 1 : 0);
    };
    at::Tensor x = part("inputs");
    for (std::size_t s = 0; s < stages_.size(); ++s) {
      VersionedStage& stage = stages_[s];
      const auto parameters = stage.block->parameters();
      const auto used = static_cast<std::size_t>(versionUsed(s, m));
      for (std::size_t i = 0; i < parameters.size(); ++i) {
        const at::NoGradGuard noGrad;
        at::Tensor(parameters[i]).copy_(stage.versions.at(used)[i]);
      }
      stage.input = x.detach().requires_grad_(s > 0);
      stage.output = stage.block->run({stage.input})[0];
      x = stage.output;
    }
    const std::size_t last = stages_.size() - 1;
    int rowsOfUpdate = 0;
    for (const int other : updateOf(last, m)) rowsOfUpdate += each_.replicas * rowsOf(other);
    const at::Tensor mean = at::mse_loss(x, part("targets"));
    for (std::size_t s = 0; s < stages_.size(); ++s) takeUpSums(s, replica, m);
    (mean * (static_cast<double>(rowsOf(m)) / rowsOfUpdate)).backward();
    for (std::size_t s = last; s > 0; --s) {
      // A stage follows the mean over the micro-batches of its own update.
      const auto theirs = static_cast<double>(updateOf(s, m).size());
      const auto own = static_cast<double>(updateOf(s - 1, m).size());
      stages_[s - 1].output.backward(stages_[s].input.grad() * (theirs / own));
    }
    for (std::size_t s = 0; s < stages_.size(); ++s) putAwaySums(s, replica, m);
    return mean.item<double>() * rowsOf(m) / (each_.rows * each_.replicas);
  }

  /// The sums of the rank that has a micro-batch; empty: it has none yet.
  Tensors& sumsFor(std::size_t s, int replica, int m) {
    const std::vector<int>& ranks = each_.map[s];
    const int rank = ranks[static_cast<std::size_t>(m) % ranks.size()] + replica * ranks_;
    return stages_[s].sumsOfRank[rank];
  }

  /// So that a backward adds to them.
  void takeUpSums(std::size_t s, int replica, int m) {
    const Tensors& sums = sumsFor(s, replica, m);
    const auto parameters = stages_[s].block->parameters();
    for (std::size_t i = 0; i < sums.size(); ++i) {
      at::Tensor(parameters[i]).mutable_grad() = sums[i];
    }
  }

  void putAwaySums(std::size_t s, int replica, int m) {
    Tensors& sums = sumsFor(s, replica, m);
    sums.clear();
    for (at::Tensor parameter : stages_[s].block->parameters()) {
      sums.push_back(parameter.grad());
      parameter.mutable_grad() = at::Tensor();
    }
  }

  /// Adds the sums in the order of ranks, which is that of the map.
  void update(std::size_t s) {
    VersionedStage& stage = stages_[s];
    for (std::size_t i = 0; i < stage.masters.size(); ++i) {
      at::Tensor sum;
      for (const auto& [rank, sums] : stage.sumsOfRank) {
        sum = sum.defined() ? sum + sums[i] : sums[i];
      }
      stage.masters[i].mutable_grad() = sum;
    }
    stage.sumsOfRank.clear();
    stage.optimizer->step();
    stage.versions.push_back(stage.copy());
  }

  const RanksCase& each_;
  const Model model_;
  std::vector<VersionedStage> stages_;
  int ranks_ = 0;  // of a replica
};

class UpdatesOnRanks : public ::testing::TestWithParam<RanksCase> {};

TEST_P(UpdatesOnRanks, HaveTheBitsOfOneProcessThatAddsInTheOrderOfRanks) {
  const RanksCase& each = GetParam();
  const CheckedPlan plan(withReplicas(
      buildOnStageRanks(each.schedule, each.map, each.microBatches, each.depths), each.replicas));
  const Result ours = trained(each, plan);
  const Result alone = VersionedAlone(each).train();
  ASSERT_EQ(ours.parameters.size(), alone.parameters.size());
  for (std::size_t r = 0; r < alone.parameters.size(); ++r) {
    ASSERT_EQ(ours.parameters[r].size(), alone.parameters[r].size());
    for (std::size_t i = 0; i < alone.parameters[r].size(); ++i) {
      EXPECT_TRUE(ours.parameters[r][i].equal(alone.parameters[r][i]))
          << "rank " << r << ", parameter " << i << ", off by "
          << (ours.parameters[r][i] - alone.parameters[r][i]).abs().max().item<double>();
    }
  }
  ASSERT_EQ(ours.losses.size(), alone.losses.size());
  for (std::size_t i = 0; i < alone.losses.size(); ++i) {
    EXPECT_NEAR(ours.losses[i], alone.losses[i], 1e-6);
  }
}

/// PipeDream's {0: [0, 1], 1: [2]}, with rows and micro-batches that do not come out even.
RanksCase twoAndOne(Wiring wiring, int replicas) {
  return {.wiring = wiring,
          .map = {{0, 1}, {2}},
          .warmUps = {1, 0},
          .every = {2, 1},
          .microBatches = 5,
          .rows = 17,
          .replicas = replicas};
}

INSTANTIATE_TEST_SUITE_P(All, UpdatesOnRanks,
                         ::testing::Values(twoAndOne(Wiring::kInProcess, 1),
                                           twoAndOne(Wiring::kGloo, 1),
                                           twoAndOne(Wiring::kInProcess, 2),
                                           twoAndOne(Wiring::kGloo, 2),
                                           RanksCase{.map = {{0, 1}, {4, 3, 2}, {5}},
                                                     .warmUps = {2, 1, 0},
                                                     .every = {2, 3, 1},
                                                     .microBatches = 11,
                                                     .rows = 23},
                                           RanksCase{.map = {{0}, {1, 2}},
                                                     .warmUps = {3, 1},
                                                     .every = {1, 2},
                                                     .microBatches = 8,
                                                     .rows = 16,
                                                     .depths = {3, 1}},
                                           RanksCase{.schedule = "PipeDream-2BW",
                                                     .map = {{0, 1}, {2}},
                                                     .warmUps = {1, 0},
                                                     .every = {4, 4},
                                                     .microBatches = 14,
                                                     .rows = 30},
                                           RanksCase{.map = {{0}, {1}},
                                                     .warmUps = {1, 0},
                                                     .every = {1, 1},
                                                     .microBatches = 4,
                                                     .rows = 9,
                                                     .replicas = 3}));

// The sum of another order has other bits, so that the tests above can fail.
TEST(UpdatesOnRanksTest, InAnotherOrderOfRanksGiveOtherBits) {
  RanksCase each{
      .map = {{0, 1, 2}, {3}}, .warmUps = {1, 0}, .every = {3, 1}, .microBatches = 6, .rows = 18};
  const Result before = VersionedAlone(each).train();
  each.map[0] = {2, 0, 1};
  const Result after = VersionedAlone(each).train();
  EXPECT_FALSE(before.parameters[0][2].equal(after.parameters[0][2]));
  EXPECT_TRUE(after.parameters[0][2].equal(after.parameters[1][2]));
}

/// Work that accepts every plan.
class IdleWork : public StageWork {
 public:
  void lr(int) override {}
  void runForward(int, int, JobMessages) override {}
  void runBackward(int, int, JobMessages) override {}
  void optimizerStep() override {}
};

TEST(UpdatesOnRanksTest, AreRefusedInLine) {
  testing::ScriptedTransport transport(0, 3);
  transport.commStreams_ = CommStreams::kRank;
  IdleWork work;
  const CheckedPlan plan = buildOnStageRanks("PipeDream", {{0, 1}, {2}}, 4);
  EXPECT_THAT(errorOf([&] { Executor(plan, work, transport); }),
              HasSubstr("the sums of these have no place among messages in line"));
}

TEST(UpdatesOnRanksTest, FromTheOldestVersionAreRefused) {
  TorchWork work({.model = layersOf(2),
                  .partition = {.blocks = {1, 1}},
                  .numMicroBatches = 4,
                  .optimizer = [](const NamedParameters& all) { return adamFor(tensorsOf(all)); },
                  .stashUpdate = StashUpdate::kOldest},
                 {0});
  const CheckedPlan plan = buildOnStageRanks("PipeDream", {{0, 1}, {2}}, 4);
  EXPECT_THAT(errorOf([&] { work.accept(*plan, 0); }),
              HasSubstr("stages on several ranks, whose updates change the newest version"));
}

}  // namespace
}  // namespace pipetrace
