#include "runtime/train/torch_work.h"

#include <algorithm>
#include <set>
#include <utility>

#include "schedule/check/update_meetings.h"
#include "schedule/with_reductions.h"
#include "trace/error.h"

namespace pipetrace {

namespace {

Batch inPinnedMemory(Batch batch) {
  for (auto& [name, tensor] : batch) {
    if (tensor.defined()) tensor = tensor.pin_memory();
  }
  return batch;
}

}  // namespace

TorchWork::TorchWork(TorchWorkOptions options, const std::vector<int>& stages)
    : options_(std::move(options)),
      cut_(cutModel(options_.model, options_.partition, options_.partition.numStages())),
      agreement_(options_.lossScale, options_.clipNorm) {
  if (options_.numMicroBatches < 1) throw Error("a step needs at least one micro-batch");
  if (!options_.optimizer) throw Error("training needs an optimizer");
  if (options_.device != nullptr) current_.emplace(*options_.device);
  requireAutocast(options_.precision,
                  options_.device == nullptr ? c10::kCPU : options_.device->device().type());
  for (const int stage : stages) {
    if (stage < 0 || stage >= options_.partition.numStages()) {
      throw Error("stage " + std::to_string(stage) + " is none of the " +
                  std::to_string(options_.partition.numStages()) + " stages of the pipeline");
    }
    stages_[stage] =
        std::make_unique<Stage>(options_.model, cut_.stages[static_cast<std::size_t>(stage)],
                                options_.seed, options_.precision);
    if (options_.device != nullptr) stages_[stage]->moveTo(options_.device->device());
  }
  copyTiedWeights();
  addBuckets();
  optimizer_ = options_.optimizer(namedParameters());
  if (!options_.batch) return;
  if (options_.steps < 1) throw Error("loading data ahead needs the number of steps");
  if (std::any_of(stages.begin(), stages.end(), [&](int stage) { return needsBatch(stage); })) {
    const auto batch = [this](int step) {
      Batch made = options_.batch(step, options_.replica);
      return options_.device == nullptr ? made : inPinnedMemory(made);
    };
    data_ = std::make_unique<DataLoader>(batch, options_.steps, options_.batchesAhead);
  }
}

void TorchWork::addBuckets() {
  for (const auto& [number, stage] : stages_) {
    StageSums::Loss loss;
    if (isLast(number)) {
      loss = {.take = [this] { return std::exchange(lossSum_, {}); },
              .give = [this](const at::Tensor& sum) { addTo(lossOfAll_, sum); }};
    }
    buckets_.addStage(number, stage->parameters(), std::move(loss), stage->parameterCounts());
  }
}

bool TorchWork::needsBatch(int stage) const {
  return !stages_.at(stage)->cut().batch.empty() || isLast(stage);
}

Stage& TorchWork::at(int stage) { return *stages_.at(stage); }

std::vector<at::Tensor> TorchWork::parameters() const { return tensorsOf(namedParameters()); }

NamedParameters TorchWork::namedParameters() const {
  NamedParameters all;
  for (const auto& [number, stage] : stages_) {
    for (auto& parameter : stage->namedParameters()) all.push_back(std::move(parameter));
  }
  return all;
}

std::vector<std::pair<int, int>> TorchWork::liveMicroBatches() const {
  std::vector<std::pair<int, int>> all;
  for (const auto& [number, stage] : stages_) {
    for (const int microBatch : stage->liveMicroBatches()) all.emplace_back(number, microBatch);
  }
  return all;
}

std::vector<std::string> TorchWork::neededOfBatch() const {
  std::set<int> needed;
  for (const auto& [number, stage] : stages_) {
    for (const auto& [slot, index] : stage->cut().batch) needed.insert(index);
  }
  std::vector<std::string> names;
  for (const int index : needed) {
    names.push_back(options_.model.batch[static_cast<std::size_t>(index)]);
  }
  return names;
}

void TorchWork::load(const Batch& batch) {
  std::int64_t rows = 0;
  std::string first;
  Tensors tensors(options_.model.batch.size());
  const std::vector<std::string> needed = neededOfBatch();
  const std::set<std::string> isNeeded(needed.begin(), needed.end());
  for (std::size_t i = 0; i < options_.model.batch.size(); ++i) {
    const std::string& name = options_.model.batch[i];
    const auto found = batch.find(name);
    if (found == batch.end() && !isNeeded.contains(name)) continue;
    if (found == batch.end()) throw Error("the batch has no tensor " + name);
    const at::Tensor& tensor = found->second;
    if (!tensor.defined() || tensor.dim() == 0) {
      throw Error("the batch's tensor " + name + " has no rows");
    }
    if (first.empty()) {
      rows = tensor.size(0);
      first = name;
    }
    if (tensor.size(0) != rows) {
      throw Error("a batch has " + std::to_string(rows) + " rows of " + first + ", but " +
                  std::to_string(tensor.size(0)) + " of " + name);
    }
    if (rows < options_.numMicroBatches) {
      throw Error("a batch of " + std::to_string(rows) + " rows cannot be split into " +
                  std::to_string(options_.numMicroBatches) + " micro-batches");
    }
    if (isNeeded.contains(name)) tensors[i] = tensor;
  }
  if (options_.device != nullptr) bringToDevice(tensors);
  batch_ = std::move(tensors);
  batchRows_ = rows;
}

void TorchWork::bringToDevice(Tensors& tensors) const {
  for (at::Tensor& tensor : tensors) {
    if (!tensor.defined()) continue;
    tensor = options_.device->copied(tensor.is_pinned() ? tensor : tensor.pin_memory());
  }
  options_.device->awaitCopies();
}

void TorchWork::accept(const Plan& plan, int rank) {
  forwardOnly_ = plan.isForwardOnly();
  if (plan.numStages != options_.partition.numStages()) {
    throw Error("the model is cut into " + std::to_string(options_.partition.numStages()) +
                " stages, but the plan " + plan.name + " has " + std::to_string(plan.numStages));
  }
  if (plan.microBatchesOfReplica() != options_.numMicroBatches) {
    throw Error("the work is for " + std::to_string(options_.numMicroBatches) +
                " micro-batches, but the plan " + plan.name + " has " +
                std::to_string(plan.microBatchesOfReplica()));
  }
  requireFits(options_.lossScale, plan);
  if (options_.clipNorm > 0 && !forwardOnly_) requireAgrees(plan, "clipping by the norm");
  if (options_.replica < 0 || options_.replica >= plan.replicas) {
    throw Error("the work is for replica " + std::to_string(options_.replica) + ", and the plan " +
                plan.name + " has " + std::to_string(plan.replicas));
  }
  versions_.emplace(plan, rank);
  shares_ = LossShares(plan, versions_->versions());
  stashes_.clear();
  for (const auto& [number, stage] : stages_) {
    stage->cutBackwards(plan.ranks[static_cast<std::size_t>(rank)], number);
  }
  if (!plan.isAsynchronous()) return;
  if (!cut_.ties.empty()) {
    throw Error("cannot train the plan " + plan.name +
                ": its weights change without a flush, and the model has tied parameters, which "
                "change together");
  }
  if (options_.stashUpdate == StashUpdate::kOldest && UpdateMeetings::exist(plan)) {
    throw Error("the plan " + plan.name +
                " has stages on several ranks, whose updates change the newest version of the "
                "weights; leave out --stash-update oldest");
  }
  optimizer_.reset();
  for (const auto& [number, stage] : stages_) {
    stashes_[number] = std::make_unique<WeightStash>(stage->namedParameters(), options_.optimizer,
                                                     options_.stashUpdate);
  }
}

TensorRoutes TorchWork::routes(const Plan& /*plan*/) const { return cut_.routes; }

void TorchWork::beginStep(int step) {
  step_ = step;
  lossSum_ = at::Tensor();
  lossOfAll_ = at::Tensor();
  loss_.reset();
  lossCount_ = 0;
  for (const auto& [number, stage] : stages_) stage->clear();
  tied_.clear();
  if (!isAsynchronous()) return;
  versions_->beginStep();
  for (const auto& [number, stash] : stashes_) stash->beginStep(versions_->usesOf(number));
}

void TorchWork::abandon() { data_.reset(); }

void TorchWork::awaitData(int step) { load(data_->take(step)); }

void TorchWork::lr(int step) {
  std::vector<torch::optim::Optimizer*> optimizers;
  if (optimizer_) optimizers.push_back(optimizer_.get());
  for (const auto& [number, stash] : stashes_) optimizers.push_back(&stash->optimizer());
  if (optimizer_) optimizer_->zero_grad();
  if (!options_.learningRate) return;
  const double rate = options_.learningRate(step);
  for (torch::optim::Optimizer* const optimizer : optimizers) {
    for (auto& group : optimizer->param_groups()) group.options().set_lr(rate);
  }
}

void TorchWork::useVersionFor(int stage, int microBatch) {
  if (isAsynchronous()) stashes_.at(stage)->use(versions_->usedBy(stage, microBatch));
}

void TorchWork::releaseVersionOf(int stage, int microBatch) {
  if (!isAsynchronous()) return;
  const int version = versions_->usedBy(stage, microBatch);
  stashes_.at(stage)->release(version);
  lastVersion_[stage] = version;
}

void TorchWork::runForward(int stage, int microBatch, JobMessages messages) {
  Stage& own = at(stage);
  const bool takesBatch = needsBatch(stage);
  if (takesBatch && batchRows_ == 0) {
    throw Error("stage " + std::to_string(stage) + " has no batch; load() one before each step");
  }
  useVersionFor(stage, microBatch);
  Stage::Forward forward{.step = step_,
                         .microBatch = microBatch,
                         .lossScale = agreement_.lossScale().value(),
                         .keepsNothing = forwardOnly_};
  Tensors batch(batch_.size());
  if (takesBatch) {
    const MicroBatchRows rows = batchSplit();
    const int own = microBatch - options_.replica * options_.numMicroBatches;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (!batch_[i].defined()) continue;
      batch[i] = batch_[i].narrow(0, rows.firstOf(own), rows.countOf(own));
    }
    forward.batch = &batch;
    forward.lossShare = shares_.lossShare(microBatch, rows);
  }
  own.forward(forward, messages);
  if (!isLast(stage)) return;
  addLoss(own.loss(), shares_.meanOfStep(microBatch, batchSplit()));
  ++lossCount_;
}

// In double, where the loss is: nobody waits for it.
void TorchWork::addLoss(const at::Tensor& loss, double factor) {
  const at::NoGradGuard noGrad;
  addTo(lossSum_, loss.to(at::kDouble).reshape({}) * factor);
}

void TorchWork::addTo(at::Tensor& sum, const at::Tensor& more) {
  sum = sum.defined() ? sum + more : more;
}

void TorchWork::recompute(int stage, int microBatch) {
  useVersionFor(stage, microBatch);
  at(stage).recompute(microBatch);
}

void TorchWork::runBackward(int stage, int microBatch, JobMessages messages) {
  useVersionFor(stage, microBatch);
  shares_.rescale(stage, microBatch, cut_.routes, messages);
  at(stage).backward(microBatch, messages);
  releaseVersionOf(stage, microBatch);
}

void TorchWork::runBackwardInput(int stage, int microBatch, JobMessages messages) {
  useVersionFor(stage, microBatch);
  shares_.rescale(stage, microBatch, cut_.routes, messages);
  at(stage).backwardInput(microBatch, messages);
}

void TorchWork::backwardWeight(int stage, int microBatch) {
  if (!at(stage).backwardWeight(microBatch)) emptyHalves_.insert(stage);
  releaseVersionOf(stage, microBatch);
}

void TorchWork::runPart(const Action& part, JobMessages messages) {
  Stage& own = at(part.stage);
  if (part.kind == JobKind::kBackward)
    return own.backwardPart(part.microBatch, part.part, messages);
  own.backwardWeightPart(part.microBatch, part.part);
}

void TorchWork::optimizerStep() {
  if (!agreement_.leftOutStep()) optimizer_->step();
}

void TorchWork::update(int stage) {
  agreement_.endUpdate(agreement_.takeOutScale(at(stage).parameters()));
  stashes_.at(stage)->update(lastVersion_[stage]);
  versions_->update(stage);
}

bool TorchWork::agrees() const {
  return agreement_.isNeeded() && !forwardOnly_ && !isAsynchronous();
}

std::vector<std::vector<double>> TorchWork::agreementTerms(const std::vector<int>& stages) {
  agreement_.takeOutScale(parameters());
  std::vector<std::vector<double>> terms;
  for (const int stage : stages) {
    const at::Tensor& loss = lossOfAll_.defined() ? lossOfAll_ : lossSum_;
    terms.push_back(
        StepAgreement::termsOf(parametersOnce(stage), isLast(stage) ? loss : at::Tensor()));
  }
  return terms;
}

void TorchWork::takeAgreement(double sum) {
  try {
    agreement_.endStep(sum, parameters());
  } catch (const Error& failed) {
    throw Error("step " + std::to_string(step_) + ": " + failed.what());
  }
}

std::vector<std::pair<const char*, double>> TorchWork::counters() const {
  std::vector<std::pair<const char*, double>> all;
  if (!options_.reportsLoss) return all;
  if (const auto norm = agreement_.norm()) all.emplace_back("grad_norm", *norm);
  const LossScale& scale = agreement_.lossScale();
  if (scale.isDynamic()) all.emplace_back("loss_scale", scale.value());
  return all;
}

std::int32_t TorchWork::versionOf(const Action& action) const { return versions_->of(action); }

double TorchWork::lossShare() const { return lossSum_.defined() ? lossSum_.item<double>() : 0; }

void TorchWork::takeLoss(double ofAll) { loss_ = ofAll; }

std::optional<double> TorchWork::loss() const {
  if (!options_.reportsLoss) return std::nullopt;
  if (loss_) return loss_;
  // Other copies have done the micro-batches that this one has not.
  if (!lossOfAll_.defined() && lossCount_ != options_.numMicroBatches) return std::nullopt;
  loss_ = (lossOfAll_.defined() ? lossOfAll_ : lossSum_).item<double>();
  return loss_;
}

}  // namespace pipetrace
