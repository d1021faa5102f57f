// The part of TorchWork that knows what the last stage makes of a step: loss, metrics, predictions.
#include "runtime/train/torch_work.h"

namespace pipetrace {

// In double, where the loss is: nobody waits for it.
void TorchWork::addResults(const Stage& last, int microBatch) {
  const MicroBatchRows rows = batchSplit();
  if (options_.predicts) {
    const int own = microBatch - options_.replica * options_.numMicroBatches;
    predictions_.push_back({.firstRow = rows.firstOf(own), .tensors = last.predictions()});
    return;
  }
  const at::NoGradGuard noGrad;
  const double factor = shares_.meanOfStep(microBatch, rows);
  const auto add = [&](at::Tensor& sum, const at::Tensor& value, double share) {
    addTo(sum, value.to(at::kDouble).reshape({}) * share);
  };
  add(lossSum_, last.loss(), factor);
  for (std::size_t i = 0; i < metricSums_.size(); ++i) {
    add(metricSums_[i], last.metrics()[i], factor * shares_.lossShare(microBatch, rows));
  }
  ++lossCount_;
}

void TorchWork::addTo(at::Tensor& sum, const at::Tensor& more) {
  sum = sum.defined() ? sum + more : more;
}

std::vector<std::pair<const char*, double>> TorchWork::counters() const {
  std::vector<std::pair<const char*, double>> all;
  if (!options_.reportsLoss) return all;
  if (const auto norm = stages_.agreement().norm()) all.emplace_back("grad_norm", *norm);
  const LossScale& scale = stages_.agreement().lossScale();
  if (scale.isDynamic()) all.emplace_back("loss_scale", scale.value());
  return all;
}

std::vector<double> TorchWork::sharesOfStep() const {
  const auto valueOf = [](const at::Tensor& sum) { return sum.defined() ? sum.item<double>() : 0; };
  std::vector<double> shares;
  if (options_.predicts) return shares;
  if (forwardOnly_) shares.push_back(valueOf(lossSum_));
  for (const at::Tensor& sum : metricSums_) shares.push_back(valueOf(sum) * replicasOfShares_);
  return shares;
}

void TorchWork::takeSums(const std::vector<double>& ofAll) {
  if (options_.predicts) return;
  auto next = ofAll.begin();
  if (forwardOnly_) loss_ = *next++;
  metricsOfAll_.assign(next, ofAll.end());
}

std::optional<double> TorchWork::loss() const {
  if (!options_.reportsLoss || options_.predicts) return std::nullopt;
  if (loss_) return loss_;
  // Other copies have done the micro-batches that this one has not.
  if (!lossOfAll_.defined() && lossCount_ != options_.numMicroBatches) return std::nullopt;
  loss_ = (lossOfAll_.defined() ? lossOfAll_ : lossSum_).item<double>();
  return loss_;
}

std::optional<std::vector<double>> TorchWork::metrics() const {
  if (!loss()) return std::nullopt;
  if (!metricsOfAll_.empty()) return metricsOfAll_;
  std::vector<double> all;
  for (const at::Tensor& sum : metricSums_) all.push_back(sum.item<double>());
  return all;
}

}  // namespace pipetrace
