#include "runtime/train/torch_work.h"

#include <algorithm>
#include <set>
#include <utility>

#include "schedule/check/update_meetings.h"
#include "schedule/simulate/simulate.h"
#include "schedule/with_reductions.h"
#include "trace/error.h"
#include "trace/text/number_text.h"

namespace pipetrace {
namespace {

Batch inPinnedMemory(Batch batch) {
  for (auto& [name, tensor] : batch) {
    if (tensor.defined()) tensor = tensor.pin_memory();
  }
  return batch;
}

TrainedStagesOptions stagesOptionsOf(const TorchWorkOptions& options) {
  return {.model = options.model,
          .partition = options.partition,
          .seed = options.seed,
          .optimizer = options.optimizer,
          .precision = options.precision,
          .lossScale = options.lossScale,
          .clipNorm = options.clipNorm,
          .stashUpdate = options.stashUpdate,
          .device = options.device};
}

TorchProgramOptions programOptionsOf(TorchWorkOptions options) {
  if (options.numMicroBatches < 1) throw Error("a step needs at least one micro-batch");
  if (!options.optimizer) throw Error("training needs an optimizer");
  return {.numMicroBatches = options.numMicroBatches,
          .replica = options.replica,
          .learningRate = std::move(options.learningRate),
          .reportsLoss = options.reportsLoss,
          .batch = std::move(options.batch),
          .steps = options.steps,
          .batchesAhead = options.batchesAhead};
}

}  // namespace

TorchWork::TorchWork(TorchWorkOptions options, const std::vector<int>& stages)
    : TorchWork(std::make_unique<TrainedStages>(stagesOptionsOf(options), stages),
                programOptionsOf(options)) {}

TorchWork::TorchWork(std::unique_ptr<TrainedStages> own, TorchProgramOptions options)
    : own_(std::move(own)), stages_(*own_), options_(std::move(options)) {
  begin();
}

TorchWork::TorchWork(TrainedStages& stages, TorchProgramOptions options)
    : stages_(stages), options_(std::move(options)) {
  begin();
}

void TorchWork::begin() {
  if (options_.numMicroBatches < 1) throw Error("a step needs at least one micro-batch");
  if (!model().loss && !options_.predicts) throw Error("the model has no loss function");
  addBuckets();
  if (options_.batch) loadFrom(options_.batch, options_.firstStep, options_.steps);
}

void TorchWork::loadFrom(std::function<Batch(int step, int replica)> batch, int firstStep,
                         int steps) {
  data_.reset();
  if (!batch) return;
  if (steps < 1) throw Error("loading data ahead needs the number of steps");
  const bool isNeeded = std::any_of(stages_.stages().begin(), stages_.stages().end(),
                                    [&](const auto& each) { return needsBatch(each.first); });
  if (!isNeeded) return;
  const auto make = [this, batch = std::move(batch)](int step) {
    Batch made = batch(step, options_.replica);
    return device() == nullptr ? made : inPinnedMemory(made);
  };
  data_ = std::make_unique<DataLoader>(make, steps, options_.batchesAhead, firstStep);
}

void TorchWork::addBuckets() {
  for (const auto& [number, stage] : stages_.stages()) {
    StageSums::Loss loss;
    if (isLast(number)) {
      loss = {.take = [this] { return std::exchange(lossSum_, {}); },
              .give = [this](const at::Tensor& sum) { addTo(lossOfAll_, sum); }};
    }
    buckets_.addStage(number, stage->parameters(), std::move(loss), stage->parameterCounts());
  }
}

bool TorchWork::needsBatch(int stage) const {
  return !stages_.at(stage).cut().batch.empty() || isLast(stage);
}

std::vector<std::pair<int, int>> TorchWork::liveMicroBatches() const {
  std::vector<std::pair<int, int>> all;
  for (const auto& [number, stage] : stages_.stages()) {
    for (const int microBatch : stage->liveMicroBatches()) all.emplace_back(number, microBatch);
  }
  return all;
}

std::vector<std::string> TorchWork::neededOfBatch() const {
  std::set<int> needed;
  for (const auto& [number, stage] : stages_.stages()) {
    const std::set<int> slots = stage->cut().slotsOfBlocks();
    for (const auto& [slot, index] : stage->cut().batch) {
      if (!options_.predicts || slots.contains(slot)) needed.insert(index);
    }
  }
  std::vector<std::string> names;
  for (const int index : needed) names.push_back(model().batch[static_cast<std::size_t>(index)]);
  return names;
}

void TorchWork::load(const Batch& batch) {
  std::int64_t rows = 0;
  std::string first;
  Tensors tensors(model().batch.size());
  const std::vector<std::string> needed = neededOfBatch();
  const std::set<std::string> isNeeded(needed.begin(), needed.end());
  for (std::size_t i = 0; i < model().batch.size(); ++i) {
    const std::string& name = model().batch[i];
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
  if (device() != nullptr) bringToDevice(tensors);
  batch_ = std::move(tensors);
  batchRows_ = rows;
}

void TorchWork::bringToDevice(Tensors& tensors) const {
  for (at::Tensor& tensor : tensors) {
    if (!tensor.defined()) continue;
    tensor = stages_.options().device->copied(tensor.is_pinned() ? tensor : tensor.pin_memory());
  }
  stages_.options().device->awaitCopies();
}

void TorchWork::accept(const Plan& plan, int rank) {
  forwardOnly_ = plan.isForwardOnly();
  if (plan.numStages != stages_.numStages()) {
    throw Error("the model is cut into " + std::to_string(stages_.numStages()) +
                " stages, but the plan " + plan.name + " has " + std::to_string(plan.numStages));
  }
  if (plan.microBatchesOfReplica() != options_.numMicroBatches) {
    throw Error("the work is for " + std::to_string(options_.numMicroBatches) +
                " micro-batches, but the plan " + plan.name + " has " +
                std::to_string(plan.microBatchesOfReplica()));
  }
  requireFits(stages_.options().lossScale, plan);
  if (stages_.options().clipNorm > 0 && !forwardOnly_) requireAgrees(plan, "clipping by the norm");
  if (options_.replica < 0 || options_.replica >= plan.replicas) {
    throw Error("the work is for replica " + std::to_string(options_.replica) + ", and the plan " +
                plan.name + " has " + std::to_string(plan.replicas));
  }
  if (options_.predicts && !forwardOnly_) {
    throw Error("the plan " + plan.name + " has backward passes, and predictions have none");
  }
  versions_.emplace(plan, rank);
  shares_ = LossShares(plan, versions_->versions());
  replicasOfShares_ = forwardOnly_ ? 1 : plan.replicas;
  isAsynchronous_ = plan.isAsynchronous() && !forwardOnly_;
  if (isAsynchronous_) requireVersionsFit(plan);
  if (forwardOnly_) return;
  stages_.keepVersions(isAsynchronous_);
  for (const auto& [number, stage] : stages_.stages()) {
    stage->cutBackwards(plan.ranks[static_cast<std::size_t>(rank)], number);
  }
}

void TorchWork::requireVersionsFit(const Plan& plan) const {
  if (!stages_.cut().ties.empty()) {
    throw Error("cannot train the plan " + plan.name +
                ": its weights change without a flush, and the model has tied parameters, which "
                "change together");
  }
  if (stages_.options().stashUpdate == StashUpdate::kOldest && UpdateMeetings::exist(plan)) {
    throw Error("the plan " + plan.name +
                " has stages on several ranks, whose updates change the newest version of the "
                "weights; leave out --stash-update oldest");
  }
}

TensorRoutes TorchWork::routes(const Plan& /*plan*/) const { return stages_.cut().routes; }

void TorchWork::beginStep(int step) {
  step_ = step;
  lossSum_ = at::Tensor();
  lossOfAll_ = at::Tensor();
  loss_.reset();
  lossCount_ = 0;
  metricSums_.assign(options_.metrics.size(), at::Tensor());
  metricsOfAll_.clear();
  predictions_.clear();
  stages_.beUsedBy(this, /*toTrain=*/!forwardOnly_);
  for (const auto& [number, stage] : stages_.stages()) stage->clear();
  tied_.clear();
  if (forwardOnly_) {
    for (const auto& [number, stash] : stages_.stashes()) stash->use(stash->newest());
  }
  if (!isAsynchronous_) return;
  versions_->beginStep();
  for (const auto& [number, stash] : stages_.stashes()) {
    stash->beginStep(versions_->usesOf(number));
  }
}

void TorchWork::abandon() { data_.reset(); }

void TorchWork::awaitData(int step) { load(data_->take(step)); }

void TorchWork::lr(int step) {
  std::vector<torch::optim::Optimizer*> optimizers;
  if (!isAsynchronous_) {
    optimizers.push_back(&stages_.theOptimizer());
    optimizers.back()->zero_grad();
  }
  for (const auto& [number, stash] : stages_.stashes()) optimizers.push_back(&stash->optimizer());
  if (!options_.learningRate) return;
  const double rate = options_.learningRate(step);
  for (torch::optim::Optimizer* const optimizer : optimizers) {
    for (auto& group : optimizer->param_groups()) group.options().set_lr(rate);
  }
}

void TorchWork::useVersionFor(int stage, int microBatch) {
  if (isAsynchronous_) stages_.stashes().at(stage)->use(versions_->usedBy(stage, microBatch));
}

void TorchWork::releaseVersionOf(int stage, int microBatch) {
  if (!isAsynchronous_) return;
  const int version = versions_->usedBy(stage, microBatch);
  stages_.stashes().at(stage)->release(version);
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
                         .lossScale = stages_.agreement().lossScale().value(),
                         .keepsNothing = forwardOnly_,
                         .predicts = options_.predicts,
                         .metrics = &options_.metrics};
  Tensors batch(batch_.size());
  if (takesBatch) {
    const MicroBatchRows rows = batchSplit();
    const int inReplica = microBatch - options_.replica * options_.numMicroBatches;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (!batch_[i].defined()) continue;
      batch[i] = batch_[i].narrow(0, rows.firstOf(inReplica), rows.countOf(inReplica));
    }
    forward.batch = &batch;
    forward.lossShare = shares_.lossShare(microBatch, rows);
  }
  own.forward(forward, messages);
  if (isLast(stage)) addResults(own, microBatch);
}

void TorchWork::recompute(int stage, int microBatch) {
  useVersionFor(stage, microBatch);
  at(stage).recompute(microBatch);
}

void TorchWork::runBackward(int stage, int microBatch, JobMessages messages) {
  useVersionFor(stage, microBatch);
  shares_.rescale(stage, microBatch, stages_.cut().routes, messages);
  at(stage).backward(microBatch, messages);
  releaseVersionOf(stage, microBatch);
}

void TorchWork::runBackwardInput(int stage, int microBatch, JobMessages messages) {
  useVersionFor(stage, microBatch);
  shares_.rescale(stage, microBatch, stages_.cut().routes, messages);
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
  if (!stages_.agreement().leftOutStep()) stages_.theOptimizer().step();
}

void TorchWork::update(int stage) {
  stages_.agreement().endUpdate(stages_.agreement().takeOutScale(at(stage).parameters()));
  stages_.stashes().at(stage)->update(lastVersion_[stage]);
  versions_->update(stage);
}

bool TorchWork::agrees() const {
  return stages_.agreement().isNeeded() && !forwardOnly_ && !isAsynchronous_;
}

std::vector<std::vector<double>> TorchWork::scalarAllReduceTerms(const std::vector<int>& stages) {
  stages_.agreement().takeOutScale(parameters());
  std::vector<std::vector<double>> terms;
  for (const int stage : stages) {
    const at::Tensor& loss = lossOfAll_.defined() ? lossOfAll_ : lossSum_;
    terms.push_back(
        StepAgreement::termsOf(stages_.parametersOnce(stage), isLast(stage) ? loss : at::Tensor()));
  }
  return terms;
}

void TorchWork::takeScalarSum(double sum) {
  try {
    stages_.agreement().endStep(sum, parameters());
  } catch (const Error& failed) {
    throw Error("step " + std::to_string(step_) + ": " + failed.what());
  }
}

std::int32_t TorchWork::versionOf(const Action& action) const { return versions_->of(action); }

// The part of TorchWork that knows what the last stage makes of a step: loss, metrics, predictions.

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

// The part of TorchWork that knows of parameters which several stages have in common.

std::vector<std::vector<int>> TorchWork::ties() const { return workFlowOf(stages_.cut()).ties; }

Message TorchWork::tiedSumOf(int tie, int use) {
  const TiedUse& own =
      stages_.cut().ties[static_cast<std::size_t>(tie)][static_cast<std::size_t>(use)];
  const at::Tensor& sum = at(own.stage).parameter(own.block, own.parameter).grad();
  return {.tensor = sum.defined() ? sum.clone() : sum};
}

void TorchWork::takeTiedSum(int tie, int use, Message sum) {
  tied_[{tie, use}] = std::move(sum.tensor);
}

void TorchWork::addTiedSums() {
  const at::NoGradGuard noGrad;
  for (std::size_t t = 0; t < stages_.cut().ties.size(); ++t) {
    const auto tie = static_cast<int>(t);
    const std::vector<TiedUse>& uses = stages_.cut().ties[t];
    at::Tensor sum;
    std::vector<at::Tensor> own;
    for (std::size_t u = 0; u < uses.size(); ++u) {
      const auto use = static_cast<int>(u);
      const bool isHere = stages_.has(uses[u].stage);
      if (isHere) own.push_back(at(uses[u].stage).parameter(uses[u].block, uses[u].parameter));
      const auto other = tied_.find({tie, use});
      if (!isHere && other == tied_.end()) break;  // this rank has none of the uses
      const at::Tensor each = isHere ? tiedSumOf(tie, use).tensor : other->second;
      if (each.defined()) addTo(sum, each);
    }
    if (!sum.defined()) continue;
    for (at::Tensor& parameter : own) {
      at::Tensor& gradient = parameter.mutable_grad();
      gradient.defined() ? gradient.copy_(sum) : gradient = sum.clone();
    }
  }
  tied_.clear();
}

std::string noteOfEmptyHalves(const CheckedPlan& plan, const std::set<int>& stages) {
  if (stages.empty()) return "";
  Costs costs = Costs::equal(plan->numStages, {.forward = kNsPerMs,
                                               .backward = 2 * kNsPerMs,
                                               .backwardInput = kNsPerMs,
                                               .backwardWeight = kNsPerMs});
  const Nanoseconds planned = simulate(plan, costs).length;
  std::string list;
  for (const int stage : stages) {
    StageCosts& own = costs.stages[static_cast<std::size_t>(stage)];
    own.backwardInput = own.backward;
    own.backwardWeight = 0;
    list += (list.empty() ? "stage " : ", stage ") + std::to_string(stage);
  }
  const Nanoseconds length = simulate(plan, costs).length;
  if (length <= planned) return "";
  const std::string ratio = factorText(static_cast<double>(length) / static_cast<double>(planned));
  return list + (stages.size() == 1 ? " has" : " have") +
         " nothing to do in the weight half of a backward, as there is no pipetrace::Linear; a "
         "step "
         "of " +
         plan->name + " takes " + ratio + " times as long as with two equal halves";
}

}  // namespace pipetrace
