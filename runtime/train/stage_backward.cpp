// The backwards of a stage: whole, in halves and in parts.
#include <ATen/ops/full_like.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/variable.h>

#include <utility>

#include "runtime/train/stage.h"
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

}  // namespace

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

}  // namespace pipetrace
