#include "runtime/checkpoint/testing/saved_model.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <torch/optim/adamw.h>
#include <torch/optim/sgd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <iterator>
#include <utility>

#include "runtime/checkpoint/checkpoint_folder.h"

namespace pipetrace::testing {
namespace fs = std::filesystem;

namespace {

/// In memory, where there is such a file system: hundreds of syncs of a disk take seconds, and the
/// kill of a process takes nothing from its cache.
fs::path placeOfFolders() {
  const fs::path memory = "/dev/shm";
  return ::access(memory.c_str(), W_OK) == 0 ? memory : fs::temp_directory_path();
}

}  // namespace

SmallBlock::SmallBlock(double begin, std::int64_t width) {
  weight = register_parameter("weight", at::full({width, 3}, begin));
  auto module = std::make_shared<torch::nn::Module>("inner");
  inner = module->register_parameter("bias", at::full({width}, begin / 2));
  register_module("inner", module);
  mean = register_buffer("mean", at::zeros({width}));
  untrained = register_parameter("untrained", at::full({2}, begin));
}

SmallModel::SmallModel(int blocks, OptimizerMaker makeOptimizer, double begin, bool isReversed,
                       std::int64_t width) {
  NamedParameters parameters;
  for (int i = 0; i < blocks; ++i) {
    blocks_.push_back(std::make_shared<SmallBlock>(begin + i, width));
    for (const auto& item : blocks_.back()->named_parameters()) {
      parameters.emplace_back(std::to_string(i) + "." + item.key(), item.value());
    }
  }
  if (isReversed) std::reverse(parameters.begin(), parameters.end());
  optimizer_ = makeOptimizer(parameters);
}

void SmallModel::step(int number) {
  double size = 1;
  for (const auto& block : blocks_) {
    const at::NoGradGuard noGrad;
    for (at::Tensor* parameter : {&block->weight, &block->inner}) {
      size = size * 1.3 + number;
      const at::Tensor ramp =
          at::arange(parameter->numel(), at::kFloat).reshape(parameter->sizes());
      parameter->mutable_grad() = (ramp * static_cast<float>(size)).sin();
    }
    block->mean.add_(static_cast<float>(number));
  }
  optimizer_->step();
}

std::vector<LiveBlock> SmallModel::live() {
  std::vector<LiveBlock> all;
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    all.push_back({.block = static_cast<int>(i),
                   .name = names()[i],
                   .module = blocks_[i].get(),
                   .optimizer = optimizer_.get()});
  }
  return all;
}

std::vector<BlockState> SmallModel::states() {
  std::vector<BlockState> states;
  for (const LiveBlock& block : live()) states.push_back(stateOf(block));
  return states;
}

std::vector<std::string> SmallModel::names() const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < blocks_.size(); ++i) names.push_back("layer " + std::to_string(i));
  return names;
}

std::vector<at::Tensor> SmallModel::tensors() {
  std::vector<at::Tensor> all;
  for (const auto& block : blocks_) {
    for (const auto& one : block->parameters()) all.push_back(one);
    for (const auto& one : block->buffers()) all.push_back(one);
  }
  return all;
}

OptimizerMaker sgd(double momentum) {
  return [momentum](const NamedParameters& parameters) {
    return std::make_unique<torch::optim::SGD>(tensorsOf(parameters),
                                               torch::optim::SGDOptions(0.1).momentum(momentum));
  };
}

OptimizerMaker adamw() {
  return [](const NamedParameters& parameters) {
    return std::make_unique<torch::optim::AdamW>(tensorsOf(parameters),
                                                 torch::optim::AdamWOptions(0.01));
  };
}

bool areEqual(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const at::Tensor& x, const at::Tensor& y) { return x.equal(y); });
}

std::vector<at::Tensor> copiesOf(const std::vector<at::Tensor>& tensors) {
  std::vector<at::Tensor> copies;
  for (const at::Tensor& tensor : tensors) copies.push_back(tensor.detach().clone());
  return copies;
}

TestFolder::TestFolder() {
  static std::atomic<int> number{0};
  path_ = (placeOfFolders() /
           ("check point " + std::to_string(::getpid()) + " " + std::to_string(number++)))
              .string();
  fs::create_directories(path_);
}

TestFolder::~TestFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::vector<std::string> TestFolder::files() const {
  std::vector<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(path_)) {
    const std::string name = fs::relative(entry.path(), path_).string();
    if (name != "lock" && !entry.is_directory()) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

Manifest writeCheckpoint(const std::string& folder, std::int64_t step,
                         const std::vector<BlockState>& states) {
  CheckpointFolder own(folder);
  own.beginStep(step);
  Manifest manifest{
      .step = step, .plan = "1F1B", .fingerprint = "0123456789abcdef", .optimizer = "AdamW"};
  const std::atomic<bool> never{false};
  for (const BlockState& state : states) {
    if (!state.version) ++manifest.numBlocks;
    manifest.files.push_back(writeBlockFile(stepFolder(folder, step), state, never));
  }
  own.finishStep(manifest);
  return manifest;
}

std::string readFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void writeFile(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

}  // namespace pipetrace::testing
