#include "runtime/train/model/model.h"

#include <torch/nn/modules/container/sequential.h>

#include <utility>

namespace pipetrace {

namespace {

class ChainBlock : public BlockModule {
 public:
  explicit ChainBlock(std::vector<torch::nn::AnyModule> modules) {
    for (torch::nn::AnyModule& module : modules) chain_->push_back(std::move(module));
    // As a Sequential names them, without a prefix.
    for (const auto& child : chain_->named_children()) register_module(child.key(), child.value());
  }
  Tensors run(const Tensors& inputs) override {
    return {chain_->is_empty() ? inputs.at(0) : chain_->forward(inputs.at(0))};
  }

 private:
  torch::nn::Sequential chain_;
};

}  // namespace

std::shared_ptr<BlockModule> chainBlock(std::vector<torch::nn::AnyModule> modules) {
  return std::make_shared<ChainBlock>(std::move(modules));
}

Model chainModel(const std::vector<LayerMaker>& layers, const ChainLoss& loss) {
  Model model{.batch = {"inputs", "targets"}};
  std::string last = "inputs";
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const std::string output = "output " + std::to_string(i);
    model.blocks.push_back({.name = "layer " + std::to_string(i),
                            .inputs = {last},
                            .outputs = {output},
                            .make = [make = layers[i]] { return chainBlock(make()); }});
    last = output;
  }
  model.lossInputs = {last, "targets"};
  model.loss = [loss](const Tensors& inputs) { return loss(inputs[0], inputs[1]); };
  return model;
}

}  // namespace pipetrace
