#include "runtime/train/stage.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/alias.h>
#include <ATen/ops/full_like.h>
#include <c10/util/Exception.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/utils.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <mutex>
#include <set>
#include <utility>

#include "runtime/errors/error_text.h"
#include "runtime/train/model/random_numbers.h"
#include "schedule/backward_parts.h"
#include "trace/error.h"
#include "trace/text/number_text.h"

namespace pipetrace {
namespace {

bool holds(const std::vector<int>& sorted, int slot) {
  return std::binary_search(sorted.begin(), sorted.end(), slot);
}

std::set<int> madeBy(const StageCut& cut, int first, int end) {
  std::set<int> made;
  for (auto b = static_cast<std::size_t>(first); b < static_cast<std::size_t>(end); ++b) {
    made.insert(cut.blocks[b].outputs.begin(), cut.blocks[b].outputs.end());
  }
  return made;
}

std::vector<int> boundaryOf(const StageCut& cut, int first, int end) {
  std::set<int> needed;
  for (auto b = static_cast<std::size_t>(first); b < static_cast<std::size_t>(end); ++b) {
    needed.insert(cut.blocks[b].inputs.begin(), cut.blocks[b].inputs.end());
  }
  const bool isLast = end == static_cast<int>(cut.blocks.size());
  if (isLast) needed.insert(cut.lossInputs.begin(), cut.lossInputs.end());
  const std::set<int> made = madeBy(cut, first, end);
  std::vector<int> boundary;
  std::set_difference(needed.begin(), needed.end(), made.begin(), made.end(),
                      std::back_inserter(boundary));
  return boundary;
}

/// The last segment before `before` that has a leaf of a slot's tensor, or makes it; else the
/// first, which begins with what comes to the stage.
int giverOf(const StageCut& cut, const std::vector<StageSegment>& list, int slot, int before) {
  for (int s = before - 1; s > 0; --s) {
    const StageSegment& segment = list[static_cast<std::size_t>(s)];
    if (holds(segment.boundary, slot)) return s;
    if (madeBy(cut, segment.first, segment.end).contains(slot)) return s;
  }
  return 0;
}

/// The inputs of a block, or of the loss, that it must not change in place: those that have no
/// gradient, and those that another stage makes. They are handed over within a process, not
/// copied, so others may have the same memory. Over Gloo they have their own, and would not see the
/// change. To look whether there was one costs no copy: LibTorch counts them by tensor.
///
/// A change that LibTorch does not count (through `data()`, or a bare pointer) is not found.
class FixedInputs {
 public:
  /// Before it runs. `inputs`: the slots of its inputs.
  FixedInputs(const StageCut& cut, const std::vector<int>& inputs, const Tensors& slots);

  /// After it has run. Throws Error if `who` has changed one of them. `names`: of all inputs.
  void requireSame(const std::string& who, const std::vector<std::string>& names) const;

 private:
  struct Fixed {
    std::size_t input = 0;
    at::Tensor tensor;
    std::uint32_t changes = 0;  // so far
  };
  std::vector<Fixed> fixed_;
};

/// How often the tensor was changed in place.
std::uint32_t changesOf(const at::Tensor& tensor) {
  return tensor.is_inference() ? 0 : tensor._version();  // LibTorch refuses to change those
}

/// Whether numbers of that type can have a gradient.
bool canHaveGradient(const at::Tensor& tensor) {
  return tensor.is_floating_point() || tensor.is_complex();
}

FixedInputs::FixedInputs(const StageCut& cut, const std::vector<int>& inputs,
                         const Tensors& slots) {
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const auto slot = static_cast<std::size_t>(inputs[k]);
    const at::Tensor& tensor = slots[slot];
    if (!tensor.defined() || (!cut.isFixed[slot] && canHaveGradient(tensor))) continue;
    fixed_.push_back({k, tensor, changesOf(tensor)});
  }
}

void FixedInputs::requireSame(const std::string& who, const std::vector<std::string>& names) const {
  for (const Fixed& each : fixed_) {
    if (changesOf(each.tensor) == each.changes) continue;
    throw Error(who + " changed its input " + names[each.input] +
                " in place, but others may need it as it was; change a copy (clone())");
  }
}

at::Tensor leafOf(const at::Tensor& tensor, bool hasGradient) {
  at::Tensor leaf = tensor.detach();
  if (hasGradient && canHaveGradient(leaf)) leaf.requires_grad_();
  return leaf;
}

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

}  // namespace

StageSegments::Range StageSegments::ofPart(int part) const {
  const auto isOfPart = [&](const StageSegment& segment) { return segment.part == part; };
  const auto first = std::find_if(list.begin(), list.end(), isOfPart);
  const auto end = std::find_if_not(first, list.end(), isOfPart);
  return {static_cast<int>(first - list.begin()), static_cast<int>(end - list.begin())};
}

StageSegments segmentsOf(const StageCut& cut, int parts, int stage) {
  const auto blocks = static_cast<int>(cut.blocks.size());
  if (parts > 1 && parts > blocks) {
    throw Error("the last backward of stage " + std::to_string(stage) + " is in " +
                std::to_string(parts) + " parts, and the stage has " + countText(blocks, "block") +
                "; a backward is cut between blocks, so it has at most as many parts");
  }
  StageSegments segments;
  for (int part = parts - 1; part >= 0; --part) {
    const auto [first, end] = blocksOfPart(blocks, part, parts);
    const int again = std::clamp(cut.firstRecomputed(), first, end);
    if (first < again || first == end) {
      segments.list.push_back({.first = first, .end = again, .part = part});
    }
    if (again < end) {
      segments.list.push_back({.first = again, .end = end, .part = part, .runsAgain = true});
    }
  }
  for (std::size_t s = 0; s < segments.list.size(); ++s) {
    StageSegment& segment = segments.list[s];
    if (s > 0) segment.boundary = boundaryOf(cut, segment.first, segment.end);
    for (const int slot : segment.boundary) {
      segment.givers.push_back(giverOf(cut, segments.list, slot, static_cast<int>(s)));
    }
  }
  for (const StageCut::End& end : cut.outgoing) {
    segments.ofOutgoing.push_back(
        end.slot == StageCut::kNone
            ? 0
            : giverOf(cut, segments.list, end.slot, static_cast<int>(segments.list.size())));
  }
  return segments;
}

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

std::vector<std::size_t> Stage::parameterCounts() const {
  std::vector<std::size_t> counts;
  for (const auto& block : blocks_) counts.push_back(block->named_parameters().size());
  return counts;
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
    } catch (const std::exception& e) {
      throw Error(blockName(model_, number) + ": " + firstLineOf(e));
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

void Stage::keepEdges(Live& live, const Tensors& slots) const {
  for (const int index : cut_.gradientOrder) {
    const StageCut::End& end = cut_.outgoing[static_cast<std::size_t>(index)];
    if (end.slot == StageCut::kNone) continue;
    const at::Tensor& output = slots[static_cast<std::size_t>(end.slot)];
    if (!output.defined() || !output.requires_grad()) continue;
    live.outgoing[static_cast<std::size_t>(index)] = torch::autograd::impl::gradient_edge(output);
  }
}

/// Cuts what a segment needs off from the graph before it.
void Stage::enter(Live& live, std::size_t segment, Tensors& slots) {
  Entry& entry = live.entries[segment];
  for (const int slot : live.segments->list[segment].boundary) {
    at::Tensor& tensor = slots[static_cast<std::size_t>(slot)];
    entry.given.push_back(tensor);
    if (tensor.requires_grad()) tensor = leafOf(tensor, /*hasGradient=*/true);
    entry.leaves.push_back(tensor);
  }
}

/// Those that run again, or those that do not.
void Stage::runSegments(Live& live, bool again, Tensors& slots) const {
  const std::vector<StageSegment>& list = live.segments->list;
  for (std::size_t s = 0; s < list.size(); ++s) {
    if (list[s].runsAgain != again) continue;
    if (!live.at.keepsNothing) enter(live, s, slots);
    runBlocks(list[s].first, list[s].end, live.at, slots);
  }
}

const StageSegments& Stage::segmentsFor(int parts, int number) {
  const auto found = segments_.find(parts);
  if (found != segments_.end()) return found->second;
  return segments_[parts] = segmentsOf(cut_, parts, number);
}

void Stage::cutBackwards(const std::vector<Action>& row, int number) {
  parts_.clear();
  for (const Action& action : row) {
    if (!action.isPart() || action.stage != number) continue;
    segmentsFor(action.parts, number);
    parts_[action.microBatch] = action.parts;
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
  live.outgoing.resize(cut_.outgoing.size());
  const auto parts = parts_.find(at.microBatch);
  if (parts != parts_.end() && !at.keepsNothing) live.parts = parts->second;
  live.segments = &segmentsFor(live.parts, /*number=*/0);
  live.entries.resize(live.segments->list.size());
  runSegments(live, /*again=*/false, slots);
  if (cut_.recomputed > 0 && !at.keepsNothing) {
    for (const int slot : cut_.boundary) {
      live.boundary.push_back(slots[static_cast<std::size_t>(slot)]);
    }
    keepEdges(live, slots);
    const at::NoGradGuard noGrad;
    runBlocks(cut_.firstRecomputed(), static_cast<int>(blocks_.size()), at, slots);
    if (!cut_.lossInputs.empty()) loss_ = lossOf(slots, at);
  } else {
    runSegments(live, /*again=*/true, slots);
    if (!at.keepsNothing) keepEdges(live, slots);
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
  for (std::size_t i = 0; i < cut_.outgoing.size(); ++i) {
    const int slot = cut_.outgoing[i].slot;
    if (slot == StageCut::kNone) continue;
    messages.outputs[i].tensor = slots[static_cast<std::size_t>(slot)].detach();
    requireSameShape(i, messages.outputs[i].tensor);
  }
  if (at.keepsNothing) return;
  live_[at.microBatch] = std::move(live);
}

// The backwards of a stage: whole, in halves and in parts.

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
    slots[static_cast<std::size_t>(cut_.boundary[i])] = std::move(live.boundary[i]);
  }
  live.boundary.clear();
  {
    std::vector<std::unique_ptr<BuffersAside>> aside;
    for (auto i = static_cast<std::size_t>(cut_.firstRecomputed()); i < blocks_.size(); ++i) {
      aside.push_back(std::make_unique<BuffersAside>(*blocks_[i]));
    }
    runSegments(live, /*again=*/true, slots);
  }
  if (!cut_.lossInputs.empty()) {
    const at::Tensor loss = lossOf(slots, live.at);
    if (loss.requires_grad()) live.loss = torch::autograd::impl::gradient_edge(loss);
  }
  keepEdges(live, slots);
  live.isRecomputed = true;
}

void Stage::propagate(Live& live, int segment) const {
  const std::vector<StageSegment>& list = live.segments->list;
  std::vector<torch::autograd::Edge> roots;
  Tensors starts;
  for (const int index : cut_.gradientOrder) {
    const auto i = static_cast<std::size_t>(index);
    if (live.segments->ofOutgoing[i] != segment) continue;
    if (!live.outgoing[i].is_valid() || !live.gradients[i].defined()) continue;
    roots.push_back(std::exchange(live.outgoing[i], {}));
    starts.push_back(std::exchange(live.gradients[i], {}));
  }
  for (auto s = static_cast<std::size_t>(segment) + 1; s < list.size(); ++s) {
    Entry& entry = live.entries[s];
    for (std::size_t i = 0; i < entry.given.size(); ++i) {
      if (list[s].givers[i] != segment || !entry.given[i].requires_grad()) continue;
      const at::Tensor gradient = std::exchange(entry.leaves[i], {}).grad();
      const at::Tensor given = std::exchange(entry.given[i], {});
      if (!gradient.defined()) continue;
      roots.push_back(torch::autograd::impl::gradient_edge(given));
      starts.push_back(gradient);
    }
  }
  if (segment + 1 == static_cast<int>(list.size()) && live.loss.is_valid()) {
    roots.push_back(std::exchange(live.loss, {}));
    starts.push_back(at::full_like(loss_, live.at.lossScale));
  }
  runGraph(roots, starts);
}

/// From its last segment to its first.
void Stage::runPart(Live& live, int part) const {
  const StageSegments::Range range = live.segments->ofPart(part);
  for (int segment = range.end - 1; segment >= range.first; --segment) propagate(live, segment);
}

void Stage::takeGradients(Live& live, JobMessages messages) const {
  live.gradients.resize(cut_.outgoing.size());
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
    live.gradients[i] = std::exchange(message, {}).tensor;
  }
}

void Stage::giveGradients(const Live& live, JobMessages messages) const {
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
  takeGradients(live, messages);
  for (int part = 0; part < live.parts; ++part) runPart(live, part);
  giveGradients(live, messages);
}

void Stage::backwardPart(int microBatch, int part, JobMessages messages) {
  if (part == 0) {
    recompute(microBatch);
    takeGradients(liveOf(microBatch), messages);
  }
  Live& live = liveOf(microBatch);
  runPart(live, part);
  if (part + 1 < live.parts) return;
  giveGradients(live, messages);
  live_.erase(microBatch);
}

void Stage::backwardInput(int microBatch, JobMessages messages) {
  recompute(microBatch);
  Live& live = liveOf(microBatch);
  takeGradients(live, messages);
  for (int part = 0; part < live.parts; ++part) {
    WeightHalf& own = *live.weights.emplace_back(std::make_unique<WeightHalf>());
    const WeightHalf::Collecting collecting(own);
    runPart(live, part);
  }
  giveGradients(live, messages);
  // Only the weight half's tensors are left.
  Live rest{.parts = live.parts, .weights = std::move(live.weights), .isThrough = true};
  live = std::move(rest);
}

bool Stage::backwardWeight(int microBatch) {
  const int parts = liveOf(microBatch).parts;
  bool hasWork = false;
  for (int part = 0; part < parts; ++part)
    hasWork = backwardWeightPart(microBatch, part) || hasWork;
  return hasWork;
}

bool Stage::backwardWeightPart(int microBatch, int part) {
  Live& live = liveOf(microBatch);
  if (!live.isThrough) {
    throw Error("micro-batch " + std::to_string(microBatch) +
                " has no input half to run the weight half after");
  }
  WeightHalf& own = *live.weights[static_cast<std::size_t>(part)];
  const bool hasWork = !own.isEmpty();
  own.run();
  if (part + 1 == live.parts) live_.erase(microBatch);
  return hasWork;
}

// The part of Stage that knows what the last one makes: loss, metrics, predictions.

void Stage::beginUse(bool toTrain) {
  for (const std::shared_ptr<BlockModule>& block : blocks_) block->train(toTrain);
  shapes_.assign(shapes_.size(), std::nullopt);
}

Tensors Stage::lossInputsIn(const Tensors& slots) const {
  Tensors inputs;
  for (const int slot : cut_.lossInputs) inputs.push_back(slots[static_cast<std::size_t>(slot)]);
  return inputs;
}

void Stage::takeMetrics(const Tensors& slots, const std::vector<Metric>& metrics) {
  const at::NoGradGuard noGrad;
  metrics_.clear();
  for (const Metric& metric : metrics) {
    at::Tensor value;
    try {
      value = metric.value(lossInputsIn(slots));
    } catch (const std::exception& e) {
      throw Error("the metric " + metric.name + ": " + firstLineOf(e));
    }
    if (!value.defined() || value.numel() != 1) {
      throw Error("the metric " + metric.name + " made no single number");
    }
    metrics_.push_back(std::move(value));
  }
}

void Stage::takePredictions(const Tensors& slots) {
  predictions_.clear();
  const Tensors inputs = lossInputsIn(slots);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::vector<std::string>& batch = model_.batch;
    const bool isOfBatch =
        std::find(batch.begin(), batch.end(), model_.lossInputs[i]) != batch.end();
    if (!isOfBatch) predictions_.push_back(inputs[i]);
  }
}

at::Tensor Stage::lossOf(const Tensors& slots, const Forward& at) const {
  const Tensors inputs = lossInputsIn(slots);
  const FixedInputs fixed(cut_, cut_.lossInputs, slots);
  const Autocast autocast(precision_, device_);
  const at::Tensor loss = model_.loss(inputs);
  fixed.requireSame("the loss", model_.lossInputs);
  if (!loss.defined() || loss.numel() != 1) throw Error("the loss function made no single number");
  return loss * at.lossShare;
}

}  // namespace pipetrace
