#include "runtime/train/stage.h"

#include <ATen/ops/alias.h>
#include <ATen/ops/full_like.h>
#include <c10/util/Exception.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/utils.h>

#include <mutex>
#include <utility>

#include "runtime/error_text.h"
#include "runtime/train/fixed_inputs.h"
#include "runtime/train/model/random_numbers.h"
#include "trace/error.h"

namespace pipetrace {

namespace {

/// While it lives, buffers of a module (running means) are copies: a block that runs again changes
/// them no second time.
class BuffersAside {
 public:
  explicit BuffersAside(const torch::nn::Module& module) : buffers_(module.buffers()) {
    for (at::Tensor& buffer : buffers_) {
      originals_.push_back(buffer.detach());
      buffer.set_data(buffer.detach().clone());
    }
  }
  ~BuffersAside() {
    for (std::size_t i = 0; i < buffers_.size(); ++i) buffers_[i].set_data(originals_[i]);
  }
  BuffersAside(const BuffersAside&) = delete;
  BuffersAside& operator=(const BuffersAside&) = delete;

 private:
  Tensors buffers_;
  Tensors originals_;
};

/// Runs autograd from `roots`, and frees the graph on its way.
void runGraph(const std::vector<torch::autograd::Edge>& roots, const Tensors& gradients) {
  if (roots.empty()) return;
  torch::autograd::Engine::get_default_engine().execute(roots, gradients, /*keep_graph=*/false,
                                                        /*create_graph=*/false,
                                                        /*accumulate_grad=*/true);
}

at::Tensor leafOf(const at::Tensor& tensor, bool hasGradient) {
  at::Tensor leaf = tensor.detach();
  if (hasGradient && canHaveGradient(leaf)) leaf.requires_grad_();
  return leaf;
}

}  // namespace

std::shared_ptr<BlockModule> makeBlock(const Model& model, int number, std::uint64_t seed) {
  // Blocks draw their weights from the process's generator: one at a time.
  static std::mutex makingBlocks;
  const std::lock_guard lock(makingBlocks);
  torch::manual_seed(weightSeed(seed, number));
  auto block = model.blocks[static_cast<std::size_t>(number)].make();
  if (!block) throw Error(blockName(model, number) + " was not made");
  return block;
}

Stage::Stage(const Model& model, const StageCut& cut, std::uint64_t seed, Precision precision)
    : model_(model), cut_(cut), seed_(seed), precision_(precision), shapes_(cut.outgoing.size()) {
  for (std::size_t i = 0; i < cut.blocks.size(); ++i) {
    blocks_.push_back(makeBlock(model, cut.firstBlock + static_cast<int>(i), seed));
  }
}

void Stage::moveTo(c10::Device device) {
  device_ = device.type();
  for (const std::shared_ptr<BlockModule>& block : blocks_) block->to(device);
}

NamedParameters Stage::namedParameters() const {
  NamedParameters all;
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const std::string prefix = std::to_string(cut_.firstBlock + static_cast<int>(i)) + ".";
    for (const auto& parameter : blocks_[i]->named_parameters()) {
      all.emplace_back(prefix + parameter.key(), parameter.value());
    }
  }
  return all;
}

std::vector<at::Tensor> Stage::parameters() const { return tensorsOf(namedParameters()); }

at::Tensor Stage::parameter(int block, const std::string& name) const {
  const auto parameters =
      blocks_.at(static_cast<std::size_t>(block - cut_.firstBlock))->named_parameters();
  if (const at::Tensor* const found = parameters.find(name)) return *found;
  throw Error(blockName(model_, block) + " has no parameter " + name);
}

void Stage::runBlocks(int first, int last, const Forward& at, Tensors& slots) const {
  for (int i = first; i < last; ++i) {
    const int number = cut_.firstBlock + i;
    const StageCut::BlockSlots& own = cut_.blocks[static_cast<std::size_t>(i)];
    const Block& block = model_.blocks[static_cast<std::size_t>(number)];
    Tensors inputs;
    for (std::size_t k = 0; k < own.inputs.size(); ++k) {
      const at::Tensor& input = slots[static_cast<std::size_t>(own.inputs[k])];
      // A node of its own adds up the gradients of this block.
      inputs.push_back(own.isShared[k] && input.requires_grad() ? at::alias(input) : input);
    }
    const FixedInputs fixed(cut_, own.inputs, slots);
    Tensors outputs;
    try {
      const Autocast autocast(precision_, device_);
      const RandomNumbersAt place({seed_, at.step, at.microBatch, number});
      outputs = blocks_[static_cast<std::size_t>(i)]->run(inputs);
    } catch (const c10::Error& e) {
      throw Error(blockName(model_, number) + ": " + errorText(e));
    }
    fixed.requireSame(blockName(model_, number), block.inputs);
    if (outputs.size() != own.outputs.size()) {
      throw Error(blockName(model_, number) + " made " + std::to_string(outputs.size()) +
                  " tensors, but says that it makes " + std::to_string(own.outputs.size()));
    }
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      if (!outputs[k].defined()) {
        throw Error(blockName(model_, number) + " made no tensor " + block.outputs[k].name);
      }
      if (!block.outputs[k].hasGradient) outputs[k] = outputs[k].detach();
      slots[static_cast<std::size_t>(own.outputs[k])] = std::move(outputs[k]);
    }
  }
}

bool Stage::isRecomputed(const StageCut::End& outgoing) const {
  return outgoing.block - cut_.firstBlock >= cut_.firstRecomputed();
}

void Stage::keepEdges(Live& live, const Tensors& slots, bool ofRecomputed) const {
  for (const int index : cut_.gradientOrder) {
    const StageCut::End& end = cut_.outgoing[static_cast<std::size_t>(index)];
    if (end.slot == StageCut::kNone || isRecomputed(end) != ofRecomputed) continue;
    const at::Tensor& output = slots[static_cast<std::size_t>(end.slot)];
    if (!output.requires_grad()) continue;
    live.outgoing[static_cast<std::size_t>(index)] = torch::autograd::impl::gradient_edge(output);
  }
}

void Stage::requireSameShape(std::size_t route, const at::Tensor& output) {
  Message message{.tensor = output};
  const TensorShape shape = shapeOf(message);
  std::optional<TensorShape>& first = shapes_[route];
  if (!first) {
    first = shape;
    return;
  }
  TensorShape expected = *first;
  if (expected.dimensions > 0) expected.sizes[0] = shape.sizes[0];
  if (shape == expected) return;
  throw Error(blockName(model_, cut_.outgoing[route].block) + " made a tensor of " + toText(shape) +
              ", but one of " + toText(*first) + " for a micro-batch before");
}

void Stage::forward(const Forward& at, JobMessages messages) {
  const at::AutoGradMode gradients(!at.keepsNothing);
  Live live{.at = at};
  live.at.batch = nullptr;  // the caller's
  live.at.metrics = nullptr;
  Tensors slots(static_cast<std::size_t>(cut_.numSlots));
  for (std::size_t i = 0; i < cut_.incoming.size(); ++i) {
    const StageCut::End& end = cut_.incoming[i];
    Message input = std::exchange(messages.inputs[i], {});
    live.incoming.emplace_back();
    if (end.slot == StageCut::kNone) continue;
    if (!input.tensor.defined()) {
      throw Error("no tensor came from " + blockName(model_, end.block));
    }
    at::Tensor& leaf = slots[static_cast<std::size_t>(end.slot)];
    leaf = leafOf(input.tensor, end.hasGradient && !at.keepsNothing);
    if (end.hasGradient) live.incoming.back() = leaf;
  }
  for (const auto& [slot, index] : cut_.batch) {
    slots[static_cast<std::size_t>(slot)] = at.batch->at(static_cast<std::size_t>(index));
  }
  const int size = static_cast<int>(blocks_.size());
  runBlocks(0, cut_.firstRecomputed(), at, slots);
  if (cut_.recomputed > 0 && !at.keepsNothing) {
    for (const int slot : cut_.boundary) {
      live.boundary.push_back(slots[static_cast<std::size_t>(slot)]);
    }
    const at::NoGradGuard noGrad;
    runBlocks(cut_.firstRecomputed(), size, at, slots);
    if (!cut_.lossInputs.empty()) loss_ = lossOf(slots, at);
  } else {
    runBlocks(cut_.firstRecomputed(), size, at, slots);
    if (at.predicts) takePredictions(slots);
    if (!cut_.lossInputs.empty() && !at.predicts) {
      const at::Tensor loss = lossOf(slots, at);
      if (loss.requires_grad()) live.loss = torch::autograd::impl::gradient_edge(loss);
      loss_ = loss.detach();
    }
  }
  if (!cut_.lossInputs.empty() && !at.predicts && at.metrics != nullptr) {
    takeMetrics(slots, *at.metrics);
  }
  live.outgoing.resize(cut_.outgoing.size());
  for (std::size_t i = 0; i < cut_.outgoing.size(); ++i) {
    const int slot = cut_.outgoing[i].slot;
    if (slot == StageCut::kNone) continue;
    messages.outputs[i].tensor = slots[static_cast<std::size_t>(slot)].detach();
    requireSameShape(i, messages.outputs[i].tensor);
  }
  if (at.keepsNothing) return;
  keepEdges(live, slots, false);
  if (cut_.recomputed == 0) keepEdges(live, slots, true);
  live_[at.microBatch] = std::move(live);
}

Stage::Live& Stage::liveOf(int microBatch) {
  const auto found = live_.find(microBatch);
  if (found == live_.end()) {
    throw Error("micro-batch " + std::to_string(microBatch) +
                " has no forward to run backward from");
  }
  return found->second;
}

std::vector<int> Stage::liveMicroBatches() const {
  std::vector<int> all;
  for (const auto& [microBatch, live] : live_) all.push_back(microBatch);
  return all;
}

void Stage::recompute(int microBatch) {
  Live& live = liveOf(microBatch);
  if (cut_.recomputed == 0 || live.isRecomputed) return;
  const at::AutoGradMode gradients(true);
  Tensors slots(static_cast<std::size_t>(cut_.numSlots));
  for (std::size_t i = 0; i < cut_.boundary.size(); ++i) {
    const at::Tensor& given = live.boundary[i];
    // Leaves of this stage stay what they are; others are cut off from the graph of the blocks that
    // do not run again.
    live.again.push_back(given.is_leaf() ? given : leafOf(given, given.requires_grad()));
    slots[static_cast<std::size_t>(cut_.boundary[i])] = live.again.back();
  }
  {
    std::vector<std::unique_ptr<BuffersAside>> aside;
    for (auto i = static_cast<std::size_t>(cut_.firstRecomputed()); i < blocks_.size(); ++i) {
      aside.push_back(std::make_unique<BuffersAside>(*blocks_[i]));
    }
    runBlocks(cut_.firstRecomputed(), static_cast<int>(blocks_.size()), live.at, slots);
  }
  if (!cut_.lossInputs.empty()) {
    const at::Tensor loss = lossOf(slots, live.at);
    if (loss.requires_grad()) live.loss = torch::autograd::impl::gradient_edge(loss);
  }
  keepEdges(live, slots, true);
  live.isRecomputed = true;
}

// First the blocks that ran again, then the others.
void Stage::propagate(Live& live, const Tensors& gradients) {
  std::vector<torch::autograd::Edge> roots;
  Tensors starts;
  const auto addOutgoing = [&](bool ofRecomputed) {
    for (const int index : cut_.gradientOrder) {
      const auto i = static_cast<std::size_t>(index);
      if (isRecomputed(cut_.outgoing[i]) != ofRecomputed) continue;
      if (!live.outgoing[i].is_valid() || !gradients[i].defined()) continue;
      roots.push_back(std::exchange(live.outgoing[i], {}));
      starts.push_back(gradients[i]);
    }
  };
  const auto addLoss = [&] {
    if (!live.loss.is_valid()) return;
    roots.push_back(std::exchange(live.loss, {}));
    starts.push_back(at::full_like(loss_, live.at.lossScale));
  };
  if (cut_.recomputed == 0) {
    addOutgoing(true);
    addOutgoing(false);
    addLoss();
    runGraph(roots, starts);
    return;
  }
  addOutgoing(true);
  addLoss();
  runGraph(roots, starts);
  roots.clear();
  starts.clear();
  addOutgoing(false);
  for (std::size_t i = 0; i < live.boundary.size(); ++i) {
    const at::Tensor& given = live.boundary[i];
    if (given.is_leaf() || !given.requires_grad() || !live.again[i].grad().defined()) continue;
    roots.push_back(torch::autograd::impl::gradient_edge(given));
    starts.push_back(live.again[i].grad());
  }
  live.boundary.clear();
  live.again.clear();
  runGraph(roots, starts);
}

void Stage::runBackward(Live& live, JobMessages messages) {
  Tensors gradients(cut_.outgoing.size());
  std::size_t next = 0;
  for (std::size_t i = 0; i < cut_.outgoing.size(); ++i) {
    if (!cut_.outgoing[i].hasGradient) continue;
    Message& message = messages.inputs[next++];
    if (live.outgoing[i].is_valid() && message.tensor.defined() && shapes_[i]) {
      TensorShape expected = *shapes_[i];
      const TensorShape got = shapeOf(message);
      if (expected.dimensions > 0) expected.sizes[0] = got.sizes[0];
      if (!(got == expected)) {
        throw Error("the gradient of the output of " + blockName(model_, cut_.outgoing[i].block) +
                    " has the shape " + toText(got) + ", but the output has " +
                    toText(*shapes_[i]));
      }
    }
    gradients[i] = std::exchange(message, {}).tensor;
  }
  propagate(live, gradients);
  std::size_t made = 0;
  for (std::size_t i = 0; i < cut_.incoming.size(); ++i) {
    if (!cut_.incoming[i].hasGradient) continue;
    const at::Tensor& leaf = live.incoming[i];
    if (leaf.defined()) messages.outputs[made].tensor = leaf.grad();
    ++made;
  }
}

void Stage::backward(int microBatch, JobMessages messages) {
  recompute(microBatch);
  Live live = std::move(liveOf(microBatch));
  live_.erase(microBatch);
  runBackward(live, messages);
}

void Stage::backwardInput(int microBatch, JobMessages messages) {
  recompute(microBatch);
  Live& live = liveOf(microBatch);
  live.weights = std::make_unique<WeightHalf>();
  {
    const WeightHalf::Collecting collecting(*live.weights);
    runBackward(live, messages);
  }
  // Only the weight half's tensors are left.
  Live rest{.weights = std::move(live.weights), .isThrough = true};
  live = std::move(rest);
}

bool Stage::backwardWeight(int microBatch) {
  Live& live = liveOf(microBatch);
  if (!live.isThrough) {
    throw Error("micro-batch " + std::to_string(microBatch) +
                " has no input half to run the weight half after");
  }
  const bool hasWork = !live.weights->isEmpty();
  live.weights->run();
  live_.erase(microBatch);
  return hasWork;
}

}  // namespace pipetrace
