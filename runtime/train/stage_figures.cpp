// The part of Stage that knows what the last one makes: loss, metrics, predictions.
#include <algorithm>
#include <utility>

#include "runtime/errors/error_text.h"
#include "runtime/train/model/fixed_inputs.h"
#include "runtime/train/stage.h"
#include "trace/error.h"

namespace pipetrace {

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
