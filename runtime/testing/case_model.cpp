#include <ATen/ops/dropout.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/tanh.h>
#include <torch/nn/functional/loss.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/normalization.h>

#include "runtime/testing/training_case.h"
#include "runtime/train/model/linear.h"

namespace pipetrace::testing {

namespace {

constexpr int kFeatures = 12;
constexpr int kWidth = 16;
constexpr int kClasses = 5;
constexpr int kTokens = 7;  // different ones
constexpr double kDropout = 0.1;

at::Tensor meanLoss(const at::Tensor& output, const at::Tensor& targets) {
  return torch::nn::functional::cross_entropy(output, targets);
}

Model mlp(int layers) {
  std::vector<LayerMaker> makers;
  for (int s = 0; s < layers; ++s) {
    const bool last = s == layers - 1;
    makers.emplace_back([s, last] {
      std::vector<torch::nn::AnyModule> modules{torch::nn::AnyModule(
          torch::nn::Linear(s == 0 ? kFeatures : kWidth, last ? kClasses : kWidth))};
      if (!last) modules.emplace_back(torch::nn::Tanh());
      return modules;
    });
  }
  return chainModel(makers, meanLoss);
}

torch::nn::LayerNorm norm() { return torch::nn::LayerNorm(torch::nn::LayerNormOptions({kWidth})); }

// Tokens and features to vectors, and a mask of the tokens that count.
class Embed : public BlockModule {
 public:
  Embed() {
    register_module("tokens", tokens_);
    register_module("features", features_);
  }
  Tensors run(const Tensors& inputs) override {
    return {tokens_(inputs[0]) + features_(inputs[1]).unsqueeze(1),
            inputs[0].gt(0).to(at::kFloat).unsqueeze(-1)};
  }

 private:
  torch::nn::Embedding tokens_{kTokens, kWidth};
  Linear features_{kFeatures, kWidth};
};

// Adds two linear layers' result, and, if it gets more than vectors and a mask, the rest too.
class Layer : public BlockModule {
 public:
  Layer() {
    register_module("norm", norm_);
    register_module("in", in_);
    register_module("out", out_);
    register_module("dropout", dropout_);
  }
  Tensors run(const Tensors& inputs) override {
    at::Tensor x = inputs[0];
    for (std::size_t i = 2; i < inputs.size(); ++i) x = x + inputs[i];
    return {x + dropout_(out_(at::gelu(in_(norm_(x))))) * inputs[1]};
  }

 private:
  torch::nn::LayerNorm norm_{norm()};
  Linear in_{kWidth, 2 * kWidth};
  torch::nn::Linear out_{2 * kWidth, kWidth};
  torch::nn::Dropout dropout_{kDropout};
};

// Scores for each token of the vocabulary, by the weights of the embedding.
class Head : public BlockModule {
 public:
  Head() {
    register_module("norm", norm_);
    weight_ = register_parameter("weight", at::zeros({kTokens, kWidth}));
  }
  Tensors run(const Tensors& inputs) override {
    return {at::dropout(norm_(inputs[0]), kDropout, true).matmul(weight_.t())};
  }

 private:
  torch::nn::LayerNorm norm_{norm()};
  at::Tensor weight_;
};

template <typename Module>
std::shared_ptr<BlockModule> makeModule() {
  return std::make_shared<Module>();
}

Model rich() {
  Model model{.batch = {"tokens", "features", "gains", "targets"}};
  model.blocks.push_back({.name = "embed",
                          .inputs = {"tokens", "features"},
                          .outputs = {"x0", {"mask", false}},
                          .make = makeModule<Embed>});
  for (int i = 1; i <= 6; ++i) {
    Block block{.name = "layer " + std::to_string(i),
                .inputs = {"x" + std::to_string(i - 1), "mask"},
                .outputs = {BlockOutput("x" + std::to_string(i))},
                .make = makeModule<Layer>};
    if (i == 4) block.inputs.emplace_back("gains");
    if (i == 5) block.inputs.emplace_back("x2");
    if (i == 6) block.inputs.emplace_back("x1");
    model.blocks.push_back(std::move(block));
  }
  model.blocks.push_back(
      {.name = "head", .inputs = {"x6", "mask"}, .outputs = {"scores"}, .make = makeModule<Head>});
  model.lossInputs = {"scores", "targets"};
  model.loss = [](const Tensors& inputs) {
    return meanLoss(inputs[0].flatten(0, 1), inputs[1].flatten());
  };
  model.ties = {{{"embed", "tokens.weight"}, {"head", "weight"}}};
  return model;
}

}  // namespace

Model modelOf(const TrainingCase& training) {
  return training.model == CaseModel::kRich ? rich() : mlp(training.numStages);
}

Partition partitionOf(const TrainingCase& training) {
  const auto blocks = static_cast<int>(modelOf(training).blocks.size());
  Partition partition = evenPartition(blocks, training.numStages);
  if (training.recompute > 0)
    partition.recomputeRatio.assign(partition.blocks.size(), training.recompute);
  return partition;
}

}  // namespace pipetrace::testing
