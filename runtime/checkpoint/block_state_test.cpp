#include "runtime/checkpoint/block_state.h"

#include <ATen/ops/ones.h>
#include <gmock/gmock.h>
#include <torch/optim/adagrad.h>
#include <torch/optim/adam.h>
#include <torch/optim/lbfgs.h>
#include <torch/optim/rmsprop.h>
#include <torch/optim/sgd.h>

#include "runtime/checkpoint/checkpoint_writer.h"
#include "runtime/checkpoint/testing/saved_model.h"
#include "runtime/testing/error_of.h"
#include "runtime/train/optimize/lamb.h"

namespace pipetrace::testing {
namespace {

using ::testing::HasSubstr;

template <typename Optimizer, typename Options>
OptimizerMaker maker(Options options) {
  return [options](const NamedParameters& parameters) {
    return std::make_unique<Optimizer>(tensorsOf(parameters), options);
  };
}

struct OptimizerCase {
  std::string name;
  OptimizerMaker make;
  std::vector<std::string> fields;
};

std::vector<OptimizerCase> optimizerCases() {
  namespace o = torch::optim;
  return {
      {"SGD", sgd(0), {}},
      {"SGD", sgd(), {"momentum_buffer"}},
      {"Adam", maker<o::Adam>(o::AdamOptions(0.01)), {"step", "exp_avg", "exp_avg_sq"}},
      {"Adam",
       maker<o::Adam>(o::AdamOptions(0.01).amsgrad(true)),
       {"step", "exp_avg", "exp_avg_sq", "max_exp_avg_sq"}},
      {"AdamW", adamw(), {"step", "exp_avg", "exp_avg_sq"}},
      {"LAMB", maker<Lamb>(LambOptions(0.01)), {"step", "exp_avg", "exp_avg_sq"}},
      {"RMSprop",
       maker<o::RMSprop>(o::RMSpropOptions(0.01).momentum(0.9).centered(true)),
       {"step", "square_avg", "momentum_buffer", "grad_avg"}},
      {"Adagrad", maker<o::Adagrad>(o::AdagradOptions(0.01).lr_decay(0.1)), {"step", "sum"}},
  };
}

std::vector<std::string> keysOf(const BlockState& state) {
  std::vector<std::string> keys;
  for (const auto& [key, tensor] : state.tensors) keys.push_back(key);
  return keys;
}

TEST(BlockStateTest, TrainingGoesOnWithTheSameBitsUnderEveryOptimizer) {
  for (const OptimizerCase& one : optimizerCases()) {
    SmallModel first(2, one.make);
    for (int step = 0; step < 3; ++step) first.step(step);
    Snapshot saved;
    saved.take(first.states());
    for (int step = 3; step < 7; ++step) first.step(step);

    // Other weights, and parameters in another order: places in lists mean nothing.
    SmallModel second(2, one.make, 9, /*isReversed=*/true);
    second.step(11);
    EXPECT_EQ(optimizerName(second.optimizer()), one.name);
    restore(saved.states(), second.live());
    for (int step = 3; step < 7; ++step) second.step(step);
    EXPECT_TRUE(areEqual(first.tensors(), second.tensors())) << one.name;

    SmallModel forgetful(2, one.make);
    std::vector<LiveBlock> weightsAlone = forgetful.live();
    for (LiveBlock& block : weightsAlone) block.optimizer = nullptr;
    restore(saved.states(), weightsAlone);
    for (int step = 3; step < 7; ++step) forgetful.step(step);
    EXPECT_EQ(areEqual(first.tensors(), forgetful.tensors()), one.fields.empty())
        << one.name << ": its state matters";
  }
}

TEST(BlockStateTest, KeysNameParametersBuffersAndWhatTheOptimizerKeeps) {
  for (const OptimizerCase& one : optimizerCases()) {
    SmallModel model(1, one.make);
    model.step(1);
    std::vector<std::string> expected = {"parameters.weight", "parameters.untrained",
                                         "parameters.inner.bias", "buffers.mean"};
    for (const char* parameter : {"weight", "untrained", "inner.bias"}) {
      // Without a gradient there is no state, but Adagrad has it from the beginning.
      if (parameter == std::string("untrained") && one.name != "Adagrad") continue;
      for (const std::string& field : one.fields) {
        expected.push_back("optimizer." + std::string(parameter) + "." + field);
      }
    }
    EXPECT_EQ(keysOf(model.states()[0]), expected) << one.name;
  }
}

TEST(BlockStateTest, AnOptimizerOverOtherTensorsIsSavedByName) {
  // As with weight versions: the optimizer has tensors of its own, in another order.
  SmallModel model(2, sgd());
  NamedParameters masters;
  for (int block = 1; block >= 0; --block) {
    for (const auto& item : model.block(block).named_parameters()) {
      masters.emplace_back(std::to_string(block) + "." + item.key(),
                           item.value().variable_data().requires_grad_());
    }
  }
  const auto optimizer = sgd()(masters);
  double value = 1;
  for (auto& [name, tensor] : masters) tensor.mutable_grad() = at::ones(tensor.sizes()) * value++;
  optimizer->step();
  LiveBlock live{.block = 1,
                 .name = "layer 1",
                 .module = &model.block(1),
                 .optimizer = optimizer.get(),
                 .optimized = masters};
  const BlockState state = stateOf(live);
  ASSERT_EQ(keysOf(state).back(), "optimizer.inner.bias.momentum_buffer");
  EXPECT_EQ(state.tensors.back().second.mean().item<float>(), 3);  // the third of the masters

  const auto afresh = sgd()(masters);
  live.optimizer = afresh.get();
  restore({state}, {live});
  EXPECT_TRUE(stateOf(live).tensors.back().second.equal(state.tensors.back().second));
}

TEST(BlockStateTest, ATensorThatDoesNotFitIsNamedWithBlockAndParameter) {
  SmallModel saved(1, adamw());
  saved.step(1);
  const BlockState state = saved.states()[0];
  const auto errorFor = [&](BlockState changed, SmallModel& model) {
    return errorOf([&] { requireFits(changed, model.live()[0]); });
  };
  SmallModel same(1, adamw());
  EXPECT_EQ(errorFor(state, same), "");

  SmallModel wider(1, adamw(), 0.5, false, /*width=*/5);
  EXPECT_EQ(errorFor(state, wider),
            "the parameter weight of block 0 (layer 0) is float32 [5, 3], and in the checkpoint "
            "float32 [4, 3]");
  BlockState other = state;
  other.tensors[0].second = other.tensors[0].second.to(at::kDouble);
  EXPECT_EQ(errorFor(other, same),
            "the parameter weight of block 0 (layer 0) is float32 [4, 3], and in the checkpoint "
            "float64 [4, 3]");
  other.tensors.erase(other.tensors.begin());
  EXPECT_EQ(errorFor(other, same),
            "block 0 (layer 0) has the parameter weight, which the checkpoint lacks");
  other = state;
  other.tensors.emplace_back("buffers.variance", at::ones({4}));
  EXPECT_EQ(errorFor(other, same),
            "block 0 (layer 0) has no buffer variance, which the checkpoint has");
  other = state;
  other.name = "head";
  EXPECT_EQ(errorFor(other, same),
            "block 0 (layer 0) of the model is called head in the checkpoint");
}

TEST(BlockStateTest, StateOfAnotherOptimizerIsNamedWithTheParameter) {
  SmallModel saved(1, adamw());
  saved.step(1);
  BlockState state = saved.states()[0];
  SmallModel other(1, sgd());
  EXPECT_EQ(errorOf([&] { requireFits(state, other.live()[0]); }),
            "the parameter weight of block 0 (layer 0) has no momentum_buffer in the checkpoint, "
            "which SGD needs with its options");
  const auto amsgrad = maker<torch::optim::Adam>(torch::optim::AdamOptions(0.01).amsgrad(true));
  SmallModel careful(1, amsgrad);
  EXPECT_THAT(errorOf([&] { requireFits(state, careful.live()[0]); }),
              HasSubstr("has no max_exp_avg_sq in the checkpoint"));
  for (auto& [key, tensor] : state.tensors) {
    if (key == "optimizer.inner.bias.exp_avg") tensor = at::ones({7});
  }
  EXPECT_EQ(errorOf([&] { requireFits(state, saved.live()[0]); }),
            "the parameter inner.bias of block 0 (layer 0) has the shape [4], and its exp_avg in "
            "the checkpoint [7]");
  SmallModel lbfgs(1, maker<torch::optim::LBFGS>(torch::optim::LBFGSOptions(1)));
  EXPECT_THAT(errorOf([&] { stateOf(lbfgs.live()[0]); }), HasSubstr("cannot be saved"));
}

TEST(BlockStateTest, NoWeightChangesIfTheLastBlockDoesNotFit) {
  SmallModel saved(2, adamw());
  saved.step(1);
  std::vector<BlockState> states = saved.states();
  SmallModel model(2, adamw(), 3);
  const std::vector<at::Tensor> before = copiesOf(model.tensors());
  states[1].tensors.pop_back();
  EXPECT_THAT(errorOf([&] { restore(states, model.live()); }), HasSubstr("block 1 (layer 1)"));
  states.pop_back();
  EXPECT_EQ(errorOf([&] { restore(states, model.live()); }),
            "the checkpoint has nothing of block 1 (layer 1)");
  EXPECT_TRUE(areEqual(model.tensors(), before));
  EXPECT_TRUE(model.optimizer().state().empty());
}

TEST(SnapshotTest, ItStaysAsItWasAndItsMemoryIsUsedAgain) {
  SmallModel model(2, adamw());
  model.step(1);
  const std::vector<at::Tensor> before = copiesOf(model.tensors());
  Snapshot snapshot;
  snapshot.take(model.states());
  model.step(2);
  SmallModel second(2, adamw());
  restore(snapshot.states(), second.live());
  EXPECT_TRUE(areEqual(second.tensors(), before));

  // Weights, AdamW's two sums and buffers in 4 bytes; its count of steps in 8.
  EXPECT_EQ(snapshot.bytes(), 2 * (4 * (3 * (12 + 4) + 2 + 4) + 2 * 8));
  const void* const memory = snapshot.states()[1].tensors[0].second.data_ptr();
  snapshot.take(model.states());
  EXPECT_EQ(snapshot.states()[1].tensors[0].second.data_ptr(), memory);
  EXPECT_TRUE(snapshot.states()[1].tensors[0].second.equal(model.block(1).weight));
  snapshot.take({model.states()[0]});
  EXPECT_EQ(snapshot.states().size(), 1U);
}

}  // namespace
}  // namespace pipetrace::testing
