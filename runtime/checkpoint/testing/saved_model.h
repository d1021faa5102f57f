#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "runtime/checkpoint/block_state.h"
#include "runtime/checkpoint/manifest.h"
#include "runtime/train/optimize/optimizer_maker.h"

namespace pipetrace::testing {

/// A small block with a weight, a module inside, and a buffer that changes in each step.
struct SmallBlock : torch::nn::Module {
  SmallBlock(double begin, std::int64_t width);
  at::Tensor weight;     // [width, 3]
  at::Tensor inner;      // "inner.bias", [width]
  at::Tensor mean;       // a buffer, [width]
  at::Tensor untrained;  // gets no gradient
};

/// A model of blocks that takes steps with made-up gradients, alike in each model that has taken as
/// many.
class SmallModel {
 public:
  /// `begin`: of all weights. `isReversed`: the optimizer has its parameters the other way round.
  SmallModel(int blocks, OptimizerMaker makeOptimizer, double begin = 0.5, bool isReversed = false,
             std::int64_t width = 4);

  /// `number` decides the gradients.
  void step(int number);
  std::vector<LiveBlock> live();
  std::vector<BlockState> states();
  SmallBlock& block(int number) { return *blocks_.at(static_cast<std::size_t>(number)); }
  torch::optim::Optimizer& optimizer() { return *optimizer_; }
  /// All weights and buffers, one after the other.
  std::vector<at::Tensor> tensors();
  std::vector<std::string> names() const;

 private:
  std::vector<std::shared_ptr<SmallBlock>> blocks_;
  std::unique_ptr<torch::optim::Optimizer> optimizer_;
};

OptimizerMaker sgd(double momentum = 0.9);
OptimizerMaker adamw();

/// Whether two lists of tensors have the same bits.
bool areEqual(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b);
std::vector<at::Tensor> copiesOf(const std::vector<at::Tensor>& tensors);

/// A folder for a test, with a space in its name, that is removed afterwards.
class TestFolder {
 public:
  TestFolder();
  ~TestFolder();
  std::string path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  /// The names of all files below it, sorted; without the lock.
  std::vector<std::string> files() const;

 private:
  std::string path_;
};

/// Writes a checkpoint of these blocks, as a run of one rank does it.
Manifest writeCheckpoint(const std::string& folder, std::int64_t step,
                         const std::vector<BlockState>& states);

std::string readFile(const std::string& path);
void writeFile(const std::string& path, const std::string& bytes);

}  // namespace pipetrace::testing
