#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/modules/container/any.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace pipetrace {

using Tensors = std::vector<at::Tensor>;

/// The weights of a block, and what it computes.
class BlockModule : public torch::nn::Module {
 public:
  /// Takes the tensors of Block::inputs and returns those of Block::outputs. Must give the same
  /// bits when it runs again with the same inputs (recomputation); dropout does (random_numbers.h).
  /// Must not change an input in place that has no gradient or comes from another stage: other
  /// blocks may have the same memory. Whoever does so gets an Error.
  virtual Tensors run(const Tensors& inputs) = 0;
};

/// A tensor that a block makes.
struct BlockOutput {
  // NOLINTNEXTLINE(google-explicit-constructor): a name is all that most outputs need
  BlockOutput(std::string itsName, bool itHasGradient = true)
      : name(std::move(itsName)), hasGradient(itHasGradient) {}
  BlockOutput(const char* itsName) : name(itsName) {}  // NOLINT(google-explicit-constructor)

  std::string name;
  /// Without one (a mask, positions) nothing is sent back for it.
  ///
  /// The gradients of a tensor that several blocks need are added up block by block, the last block
  /// first: those of one block among themselves, then to the sum. Blocks of one stage are added up
  /// there, before those of other stages. So a tensor that three or more blocks need may get other
  /// bits in another partition.
  bool hasGradient = true;
};

/// A part of a model that is never cut.
struct Block {
  std::string name;                  ///< of its own in the model
  std::vector<std::string> inputs;   ///< tensors of the batch, or of blocks before it
  std::vector<BlockOutput> outputs;  ///< names of their own in the model
  /// Makes the weights with LibTorch's default generator, which is seeded for the block before.
  /// Only ranks that run the block call it. One call at a time.
  std::function<std::shared_ptr<BlockModule>()> make;
};

/// A parameter of a block, by its name in the module: "weight", "attention.out.bias".
struct BlockParameter {
  std::string block;
  std::string parameter;
};

/// A model that can be cut into stages between its blocks.
struct Model {
  std::vector<std::string> batch;  ///< names of the tensors of a batch
  std::vector<Block> blocks;       ///< in the order in which they run
  std::vector<std::string> lossInputs;
  /// The mean loss of the micro-batch's rows, one number, from the tensors of lossInputs. Changes
  /// none in place that a block must not (BlockModule::run()).
  std::function<at::Tensor(const Tensors& inputs)> loss;
  /// Parameters with equal weights. Each block has a copy of its own; all begin as that of the
  /// first. Their gradients are added up, in this order, before the optimizer's step.
  std::vector<std::vector<BlockParameter>> ties;
};

/// Makes modules that run one after the other; each takes one tensor and returns one.
using LayerMaker = std::function<std::vector<torch::nn::AnyModule>()>;
using ChainLoss = std::function<at::Tensor(const at::Tensor& output, const at::Tensor& targets)>;

/// A model of layers that run one after the other, a block each. The batch has `inputs`, for the
/// first of them, and `targets`.
Model chainModel(const std::vector<LayerMaker>& layers, const ChainLoss& loss);

/// A block that runs `modules` one after the other.
std::shared_ptr<BlockModule> chainBlock(std::vector<torch::nn::AnyModule> modules);

/// A figure of the model's results beside the loss, such as the share of right answers.
struct Metric {
  std::string name;
  /// The mean over the micro-batch's rows, one number, from the tensors of Model::lossInputs.
  /// Called without autograd on the ranks of the last stage. Changes none of them in place.
  std::function<at::Tensor(const Tensors& inputs)> value;
};

}  // namespace pipetrace
