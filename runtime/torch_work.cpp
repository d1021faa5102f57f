#include "runtime/torch_work.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/variable.h>

#include <string>
#include <utility>

#include "trace/error.h"

namespace pipetrace {

namespace {

std::string describe(int stage, int microBatch) {
  return "stage " + std::to_string(stage) + ", micro-batch " + std::to_string(microBatch);
}

}  // namespace

TorchWork::TorchWork(TorchWorkOptions options, std::map<int, torch::nn::Sequential> stages)
    : options_(std::move(options)), stages_(std::move(stages)) {
  for (const auto& [stage, module] : stages_) {
    if (stage < 0 || stage >= options_.numStages) {
      throw Error("stage " + std::to_string(stage) + " is none of the " +
                  std::to_string(options_.numStages) + " stages of the pipeline");
    }
    if (isLast(stage) && !options_.loss) throw Error("the last stage needs a loss function");
  }
  if (options_.numMicroBatches < 1) throw Error("a step needs at least one micro-batch");
  if (!options_.optimizer) throw Error("training needs an optimizer");
  optimizer_ = options_.optimizer(parameters());
}

std::vector<at::Tensor> TorchWork::parameters() const {
  std::vector<at::Tensor> all;
  for (const auto& [stage, module] : stages_) {
    for (const at::Tensor& parameter : module->parameters()) all.push_back(parameter);
  }
  return all;
}

void TorchWork::load(const Batch& batch) {
  const std::int64_t rows = batch.inputs.size(0);
  if (rows != batch.targets.size(0)) {
    throw Error("a batch has " + std::to_string(rows) + " inputs but " +
                std::to_string(batch.targets.size(0)) + " targets");
  }
  if (rows < options_.numMicroBatches) {
    throw Error("a batch of " + std::to_string(rows) + " rows cannot be split into " +
                std::to_string(options_.numMicroBatches) + " micro-batches");
  }
  batchRows_ = rows;
  inputs_.clear();
  targets_.clear();
  if (stages_.contains(0)) inputs_ = batch.inputs.tensor_split(options_.numMicroBatches);
  if (stages_.contains(options_.numStages - 1)) {
    targets_ = batch.targets.tensor_split(options_.numMicroBatches);
  }
}

void TorchWork::accept(const Plan& plan) {
  forwardOnly_ = plan.isForwardOnly();
  if (plan.updates.every == 0) return;
  throw Error("cannot train the plan " + plan.name +
              ": its weights change without a flush; training takes one optimizer step after all "
              "micro-batches (pipe-run rehearse runs such plans)");
}

void TorchWork::beginStep(int /*step*/) {
  loss_ = 0;
  lossCount_ = 0;
  live_.clear();
}

void TorchWork::lr(int step) {
  optimizer_->zero_grad();
  if (!options_.learningRate) return;
  const double rate = options_.learningRate(step);
  for (auto& group : optimizer_->param_groups()) group.options().set_lr(rate);
}

at::Tensor TorchWork::inputOf(int stage, int microBatch, const Message& message) const {
  if (stage == 0) {
    if (inputs_.empty()) throw Error("the first stage has no batch; load() one before each step");
    return inputs_.at(static_cast<std::size_t>(microBatch));
  }
  if (!message.tensor.defined()) throw Error(describe(stage, microBatch) + " got no activations");
  // Makes a leaf of this rank's own graph, so that its gradient can be handed back.
  at::Tensor input = message.tensor.detach();
  if (input.is_floating_point()) input.requires_grad_();
  return input;
}

at::Tensor TorchWork::scaledLoss(int microBatch, const at::Tensor& output) {
  if (targets_.empty()) throw Error("the last stage has no batch; load() one before each step");
  const at::Tensor& targets = targets_.at(static_cast<std::size_t>(microBatch));
  const double share = static_cast<double>(targets.size(0)) / static_cast<double>(batchRows_);
  at::Tensor loss = options_.loss(output, targets) * share;
  loss_ += loss.item<double>();
  ++lossCount_;
  return loss;
}

Message TorchWork::forward(int stage, int microBatch, Message input) {
  const at::AutoGradMode gradients(!forwardOnly_);
  Live live;
  const at::Tensor in = inputOf(stage, microBatch, input);
  if (stage > 0) live.input = in;
  at::Tensor output = stages_.at(stage)->forward(in);
  Message result;
  if (isLast(stage)) {
    live.loss = output = scaledLoss(microBatch, output);
  } else {
    result.tensor = output.detach();
    live.shape = shapeOf(result);
  }
  if (forwardOnly_) return result;
  if (output.requires_grad()) live.output = torch::autograd::impl::gradient_edge(output);
  live_[{stage, microBatch}] = std::move(live);
  return result;
}

Message TorchWork::backward(int stage, int microBatch, Message gradient) {
  const auto found = live_.find({stage, microBatch});
  if (found == live_.end()) {
    throw Error(describe(stage, microBatch) + " has no forward to run backward from");
  }
  const Live live = std::move(found->second);
  live_.erase(found);
  // Skips a first stage without parameters, which has nothing to learn.
  if (live.output.is_valid()) {
    if (live.loss.defined()) {
      gradient.tensor = at::ones_like(live.loss);
    } else if (!(shapeOf(gradient) == live.shape)) {
      throw Error("the gradient of " + describe(stage, microBatch) + " has the shape " +
                  toText(shapeOf(gradient)) + ", but its output has " + toText(live.shape));
    }
    torch::autograd::Engine::get_default_engine().execute({live.output}, {gradient.tensor}, false,
                                                          false, true);
  }
  Message result;
  if (live.input.defined()) result.tensor = live.input.grad();
  return result;
}

void TorchWork::optimizerStep() { optimizer_->step(); }

// In double, which holds every gradient's number exactly, so that one tensor has them all: the
// loss, how many micro-batches are in it, the gradients.
Message TorchWork::sumsOf(int stage) {
  const double loss = isLast(stage) ? loss_ : 0;
  const double count = isLast(stage) ? lossCount_ : 0;
  std::vector<at::Tensor> parts{at::tensor({loss, count}, at::kDouble)};
  for (const at::Tensor& parameter : stages_.at(stage)->parameters()) {
    const at::Tensor& sum = parameter.grad();
    parts.push_back((sum.defined() ? sum : at::zeros_like(parameter)).flatten().to(at::kDouble));
  }
  return {.tensor = at::cat(parts)};
}

void TorchWork::addSums(int stage, const Message& sums) {
  const at::NoGradGuard noGrad;
  if (isLast(stage)) {
    loss_ += sums.tensor[0].item<double>();
    lossCount_ += static_cast<int>(sums.tensor[1].item<double>());
  }
  std::int64_t offset = 2;
  for (at::Tensor& parameter : stages_.at(stage)->parameters()) {
    const at::Tensor other = sums.tensor.narrow(0, offset, parameter.numel())
                                 .view(parameter.sizes())
                                 .to(parameter.scalar_type());
    offset += parameter.numel();
    at::Tensor& sum = parameter.mutable_grad();
    if (sum.defined()) {
      sum.add_(other);
    } else {
      sum = other;
    }
  }
}

std::optional<double> TorchWork::loss() const {
  if (!options_.reportsLoss) return std::nullopt;
  if (lossCount_ != options_.numMicroBatches) return std::nullopt;
  return loss_;
}

}  // namespace pipetrace
