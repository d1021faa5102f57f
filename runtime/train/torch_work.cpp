#include "runtime/train/torch_work.h"

#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <set>
#include <utility>

#include "runtime/train/optimize/unscale_gradients.h"
#include "runtime/train/stage_sums.h"
#include "schedule/check/update_meetings.h"
#include "trace/error.h"

namespace pipetrace {

namespace {

// A rank that does not run the block of the first use makes it for its weights.
at::Tensor firstWeights(const Model& model, const TiedUse& first, std::uint64_t seed) {
  StageCut alone;
  alone.firstBlock = first.block;
  alone.blocks.resize(1);
  return Stage(model, alone, seed).parameter(first.block, first.parameter);
}

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
      lossScale_(options_.lossScale) {
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

bool TorchWork::needsBatch(int stage) const {
  return !stages_.at(stage)->cut().batch.empty() || isLast(stage);
}

void TorchWork::copyTiedWeights() {
  const at::NoGradGuard noGrad;
  for (const std::vector<TiedUse>& uses : cut_.ties) {
    at::Tensor first;
    for (std::size_t use = 0; use < uses.size(); ++use) {
      if (!stages_.contains(uses[use].stage)) continue;
      at::Tensor own = at(uses[use].stage).parameter(uses[use].block, uses[use].parameter);
      if (use == 0) first = own;
      if (!first.defined()) first = firstWeights(options_.model, uses[0], options_.seed);
      if (own.sizes() != first.sizes() || own.dtype() != first.dtype()) {
        throw Error("the parameter " + uses[use].parameter + " of " +
                    blockName(options_.model, uses[use].block) + " is tied to " +
                    uses[0].parameter + " of " + blockName(options_.model, uses[0].block) +
                    ", which has another shape or type");
      }
      own.copy_(first);
    }
  }
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
  requireFits(lossScale_, plan);
  if (options_.replica < 0 || options_.replica >= plan.replicas) {
    throw Error("the work is for replica " + std::to_string(options_.replica) + ", and the plan " +
                plan.name + " has " + std::to_string(plan.replicas));
  }
  versions_.emplace(plan, rank);
  shares_ = LossShares(plan, versions_->versions());
  stashes_.clear();
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

std::vector<std::vector<int>> TorchWork::ties() const { return workFlowOf(cut_).ties; }

void TorchWork::beginStep(int step) {
  step_ = step;
  lossSum_ = lossOfCopies_ = at::Tensor();
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
                         .lossScale = lossScale_.value(),
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
  addLoss(own.loss(), shares_.meanOfStep(microBatch, batchSplit()), lossSum_);
  ++lossCount_;
}

// In double, where the loss is: nobody waits for it.
void TorchWork::addLoss(const at::Tensor& loss, double factor, at::Tensor& sum) {
  const at::NoGradGuard noGrad;
  const at::Tensor share = loss.to(at::kDouble).reshape({}) * factor;
  sum = sum.defined() ? sum + share : share;
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

// Returns whether the optimizer may take its step.
bool TorchWork::takeOutScale(const std::vector<at::Tensor>& parameters) {
  const bool isScaled = lossScale_.isDynamic() || lossScale_.value() != 1;
  if (!isScaled || parameters.empty()) return true;
  const at::Tensor overflow = unscaleGradients(parameters, lossScale_.value());
  if (options_.device != nullptr && !lossScale_.isDynamic()) return true;  // nobody waits
  const bool overflowed = overflow.item<float>() != 0;
  lossScale_.endStep(overflowed);
  const std::string failure = lossScale_.failure();
  if (!failure.empty()) throw Error("step " + std::to_string(step_) + ": " + failure);
  return !overflowed;
}

void TorchWork::optimizerStep() {
  if (takeOutScale(parameters())) optimizer_->step();
}

void TorchWork::update(int stage) {
  takeOutScale(at(stage).parameters());
  stashes_.at(stage)->update(lastVersion_[stage]);
  versions_->update(stage);
}

std::int32_t TorchWork::versionOf(const Action& action) const { return versions_->of(action); }

Message TorchWork::sumsOf(int stage) {
  return {.tensor =
              StageSums::pack(at(stage).parameters(), isLast(stage) ? lossSum_ : at::Tensor())};
}

void TorchWork::addSums(int stage, const std::vector<Message>& sums) {
  std::vector<at::Tensor> copies;
  for (const Message& copy : sums) copies.push_back(copy.tensor);
  StageSums::addUp(copies, at(stage).parameters());
  if (!isLast(stage)) return;
  lossSum_ = at::Tensor();
  for (const at::Tensor& copy : copies) addLoss(StageSums::lossOf(copy), 1, lossOfCopies_);
  lossCount_ = options_.numMicroBatches;  // others have done those that this copy has not
}

Message TorchWork::tiedSumOf(int tie, int use) {
  const TiedUse& own = cut_.ties[static_cast<std::size_t>(tie)][static_cast<std::size_t>(use)];
  const at::Tensor parameter = at(own.stage).parameter(own.block, own.parameter);
  const at::Tensor& sum = parameter.grad();
  return {.tensor = sum.defined() ? sum.clone() : at::zeros_like(parameter)};
}

void TorchWork::takeTiedSum(int tie, int use, Message sum) {
  tied_[{tie, use}] = std::move(sum.tensor);
}

void TorchWork::addTiedSums() {
  const at::NoGradGuard noGrad;
  for (std::size_t t = 0; t < cut_.ties.size(); ++t) {
    const auto tie = static_cast<int>(t);
    const std::vector<TiedUse>& uses = cut_.ties[t];
    at::Tensor sum;
    std::vector<at::Tensor> own;
    for (std::size_t u = 0; u < uses.size(); ++u) {
      const auto use = static_cast<int>(u);
      const bool isHere = stages_.contains(uses[u].stage);
      if (isHere) own.push_back(at(uses[u].stage).parameter(uses[u].block, uses[u].parameter));
      const auto other = tied_.find({tie, use});
      if (!isHere && other == tied_.end()) break;  // this rank has none of the uses
      const at::Tensor each = isHere ? tiedSumOf(tie, use).tensor : other->second;
      sum = sum.defined() ? sum + each : each;
    }
    for (at::Tensor& parameter : own) parameter.mutable_grad() = sum.clone();
  }
  tied_.clear();
}

std::optional<double> TorchWork::loss() const {
  if (!options_.reportsLoss) return std::nullopt;
  if (lossCount_ != options_.numMicroBatches) return std::nullopt;
  if (!loss_) loss_ = (lossOfCopies_.defined() ? lossOfCopies_ : lossSum_).item<double>();
  return loss_;
}

}  // namespace pipetrace
