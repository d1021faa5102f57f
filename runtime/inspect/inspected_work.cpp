#include "runtime/inspect/inspected_work.h"

#include <ATen/ops/cat.h>

#include <string>
#include <utility>

#include "schedule/plan.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

/// The numbers of all tensors, in one copy from their device. An undefined one has none.
std::vector<std::vector<double>> numbersOf(const std::vector<at::Tensor>& tensors) {
  std::vector<at::Tensor> parts;
  for (const at::Tensor& tensor : tensors) {
    if (tensor.defined()) parts.push_back(tensor.reshape({-1}));
  }
  std::vector<std::vector<double>> numbers(tensors.size());
  if (parts.empty()) return numbers;
  const at::Tensor all = at::cat(parts).cpu();
  const double* next = all.const_data_ptr<double>();
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (!tensors[i].defined()) continue;
    numbers[i].assign(next, next + tensors[i].numel());
    next += tensors[i].numel();
  }
  return numbers;
}

std::optional<double> firstOf(const std::vector<double>& numbers) {
  return numbers.empty() ? std::nullopt : std::optional(numbers.front());
}

bool isBackwardPart(JobKind kind) {
  return kind == JobKind::kBackward || kind == JobKind::kBackwardInput ||
         kind == JobKind::kBackwardWeight;
}

}  // namespace

InspectedWork::InspectedWork(StageWork& inner, InspectOptions options)
    : ForwardingWork(inner), options_(std::move(options)) {
  if (options_.every < 1) {
    throw Error("cannot inspect every " + std::to_string(options_.every) + " steps");
  }
}

void InspectedWork::accept(const Plan& plan, int rank) {
  ForwardingWork::accept(plan, rank);
  routes_ = routes(plan);
  firstMicroBatch_ = plan.replicaOf(options_.rank) * plan.microBatchesOfReplica();
  parts_.clear();
  for (const Action& action : plan.ranks[static_cast<std::size_t>(options_.rank)]) {
    if (isBackwardPart(action.kind)) ++parts_[action.stage];
    if (action.kind == JobKind::kForwardBackward) ++parts_[action.backwardStage];
  }
}

void InspectedWork::beginStep(int step) {
  ForwardingWork::beginStep(step);
  queued_.reset();
  done_.clear();
  if (step % options_.every != 0) return;
  queued_.emplace();
  queued_->step.step = step;
  if (options_.lossScale) queued_->step.lossScale = options_.lossScale();
}

void InspectedWork::runForward(int stage, int microBatch, JobMessages messages) {
  ForwardingWork::runForward(stage, microBatch, messages);
  lookAt(true, stage, microBatch, messages);
}

void InspectedWork::runBackward(int stage, int microBatch, JobMessages messages) {
  backwardPart(stage, [&] { ForwardingWork::runBackward(stage, microBatch, messages); });
  lookAt(false, stage, microBatch, messages);
}

void InspectedWork::runBackwardInput(int stage, int microBatch, JobMessages messages) {
  backwardPart(stage, [&] { ForwardingWork::runBackwardInput(stage, microBatch, messages); });
  lookAt(false, stage, microBatch, messages);
}

void InspectedWork::backwardWeight(int stage, int microBatch) {
  backwardPart(stage, [&] { ForwardingWork::backwardWeight(stage, microBatch); });
}

void InspectedWork::runPart(const Action& part, JobMessages messages) {
  backwardPart(part.stage, [&] { ForwardingWork::runPart(part, messages); });
  const bool hasSent = part.kind == JobKind::kBackward && part.isLastPart();
  if (hasSent) lookAt(false, part.stage, part.microBatch, messages);
}

template <typename Run>
void InspectedWork::backwardPart(int stage, Run run) {
  if (!queued_) return run();
  if (done_[stage] == 0) lookAtGradients(stage, true);
  run();
  if (++done_[stage] == parts_[stage]) lookAtGradients(stage, false);
}

void InspectedWork::lookAtGradients(int stage, bool isBefore) {
  if (!options_.parameters) return;
  std::vector<GradientNorm>& gradients = queued_->step.gradients;
  if (isBefore) firstGradient_[stage] = gradients.size();
  std::size_t next = firstGradient_[stage];
  for (const auto& [name, parameter] : options_.parameters(stage)) {
    if (isBefore) {
      gradients.push_back({.stage = stage, .parameter = name});
      queued_->norms.emplace_back();
    }
    const at::Tensor& gradient = parameter.grad();
    queued_->norms[next++][isBefore ? 0 : 1] =
        gradient.defined() ? queueNorm(gradient) : at::Tensor();
  }
}

void InspectedWork::lookAt(bool isForward, int stage, int microBatch, const JobMessages& messages) {
  if (!queued_) return;
  std::size_t next = 0;
  for (const TensorRoute& route : routes_) {
    if (isForward ? route.from != stage : route.to != stage || !route.hasGradient) continue;
    const at::Tensor& tensor = messages.outputs[next++].tensor;
    if (!tensor.defined()) continue;
    queued_->step.sent.push_back({.kind = transferKind(/*isSend=*/true, isForward),
                                  .stage = stage,
                                  .toStage = isForward ? route.to : route.from,
                                  .microBatch = microBatch - firstMicroBatch_,
                                  .shape = tensor.sizes().vec(),
                                  .type = tensor.scalar_type()});
    queued_->figures.push_back(queueFigures(tensor));
  }
}

std::optional<StepInspection> InspectedWork::take() {
  if (!queued_) return std::nullopt;
  const Queued queued = *std::exchange(queued_, std::nullopt);
  StepInspection step = queued.step;
  std::vector<at::Tensor> tensors = queued.figures;
  for (const auto& [before, after] : queued.norms) tensors.insert(tensors.end(), {before, after});
  const auto numbers = numbersOf(tensors);
  auto next = numbers.begin();
  for (SentTensor& sent : step.sent) {
    const std::vector<double>& of = *next++;
    if (of.empty()) continue;
    sent.figures =
        TensorFigures{.mean = of[0], .deviation = of[1], .least = of[2], .greatest = of[3]};
  }
  for (GradientNorm& gradient : step.gradients) {
    gradient.before = firstOf(*next++);
    gradient.after = firstOf(*next++);
  }
  return step;
}

}  // namespace pipetrace
