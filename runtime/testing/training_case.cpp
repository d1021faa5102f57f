#include "runtime/testing/training_case.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/utils.h>

#include <cstring>

#include "runtime/executor.h"
#include "runtime/inspect/inspected_work.h"
#include "runtime/stage_work.h"
#include "runtime/testing/training_parts.h"
#include "runtime/train/optimize/optimizer_maker.h"
#include "runtime/train/torch_work.h"
#include "trace/error.h"

namespace pipetrace::testing {

namespace {

Batch wholeBatch(const TrainingCase& training, int step, int replica, std::int64_t rows) {
  at::Generator random = at::make_generator<at::CPUGeneratorImpl>(
      99 + static_cast<std::uint64_t>(step + 1000 * replica));
  const auto tokens = [&](std::int64_t most, at::IntArrayRef sizes) {
    return at::randint(most, sizes, random, at::kLong);
  };
  Batch batch;
  if (training.model == CaseModel::kMlp) {
    batch["inputs"] = at::randn({rows, 12}, random);
    batch["targets"] = tokens(5, {rows});
    return batch;
  }
  batch["tokens"] = tokens(7, {rows, 3});
  batch["features"] = at::randn({rows, 12}, random);
  batch["gains"] = at::randn({rows, 1, 1}, random);
  batch["targets"] = tokens(7, {rows, 3});
  return batch;
}

}  // namespace

Batch batchOf(const TrainingCase& training, int step, int replica) {
  const int parts = training.batchParts;
  if (parts == 1) return wholeBatch(training, step, replica, training.rowsOf(step));
  Batch batch = wholeBatch(training, step, 0, std::int64_t{parts} * training.rowsOf(step));
  for (auto& [name, tensor] : batch) {
    tensor = tensor.tensor_split(parts)[static_cast<std::size_t>(replica)];
  }
  return batch;
}

void appendGradients(RankResult& result, const Tensors& parameters) {
  for (const at::Tensor& parameter : parameters) {
    if (parameter.grad().defined()) result.push_back(parameter.grad().clone().cpu());
  }
}

void appendParameters(RankResult& result, const Tensors& parameters) {
  for (const at::Tensor& parameter : parameters) result.push_back(parameter.detach().clone().cpu());
}

at::Tensor lossTensor(double loss) { return torch::tensor(loss, torch::kDouble); }

namespace {

OptimizerMaker makerOf(const TrainingCase& training) {
  if (training.decays) {
    return [](const NamedParameters& parameters) {
      const WeightDecay decay{
          .rate = kDecay, .spares = [](const std::string& name) { return name.starts_with("1."); }};
      return std::make_unique<torch::optim::AdamW>(
          decayGroups(parameters, torch::optim::AdamWOptions(kRate), decay));
    };
  }
  return [](const NamedParameters& parameters) {
    return std::make_unique<torch::optim::Adam>(tensorsOf(parameters),
                                                torch::optim::AdamOptions(kRate));
  };
}

// Says before each backward where it is.
class WatchedWork : public ForwardingWork {
 public:
  WatchedWork(TorchWork& inner, const BeforeBackward& watcher)
      : ForwardingWork(inner), watcher_(watcher) {}
  void beginStep(int step) override {
    step_ = step;
    ForwardingWork::beginStep(step);
  }
  void runBackward(int stage, int microBatch, JobMessages messages) override {
    if (watcher_) watcher_(step_, microBatch);
    ForwardingWork::runBackward(stage, microBatch, messages);
  }

 private:
  const BeforeBackward& watcher_;
  int step_ = 0;
};

}  // namespace

RankResult trainRank(const TrainingCase& training, const CheckedPlan& plan, Transport& transport,
                     const BeforeBackward& beforeBackward, const OnDevice& on) {
  torch::set_num_threads(1);
  TorchWork torchWork({.model = modelOf(training),
                       .partition = partitionOf(training),
                       .numMicroBatches = training.microBatches,
                       .replica = plan->replicaOf(transport.rank()),
                       .seed = kSeed,
                       .optimizer = makerOf(training),
                       .precision = training.precision,
                       .lossScale = LossScale::fixed(training.lossScale),
                       .clipNorm = training.clipNorm,
                       .reportsLoss = plan->lastRankOf(0) == transport.rank(),
                       .device = on.device},
                      plan->stagesOfRank(transport.rank()));
  WatchedWork watched(torchWork, beforeBackward);
  const std::unique_ptr<StageWork> own = on.around ? on.around(watched) : nullptr;
  StageWork& around = own ? *own : watched;
  InspectedWork inspected(
      around, {.every = std::max(on.inspectEvery, 1),
               .rank = transport.rank(),
               .parameters = [&](int stage) { return torchWork.stage(stage).namedParameters(); },
               .lossScale = [&] { return torchWork.agreement().lossScale().value(); }});
  Executor executor(plan, on.inspectEvery > 0 ? inspected : around, transport, on.streams,
                    {.control = on.control});
  RankResult result;
  for (int step = 0; step < training.steps; ++step) {
    torchWork.load(batchOf(training, step, plan->replicaOf(transport.rank())));
    executor.runStep(step);
    if (const auto seen = inspected.take()) on.inspected(*seen);
    if (const auto loss = torchWork.loss()) {
      result.push_back(lossTensor(*loss));
      if (training.clipNorm > 0) {
        result.push_back(lossTensor(torchWork.agreement().norm().value()));
      }
    }
    if (on.readsGradients) appendGradients(result, torchWork.parameters());
    if (!torchWork.liveMicroBatches().empty()) throw Error("micro-batches are left over");
  }
  executor.finish();
  appendParameters(result, torchWork.parameters());
  return result;
}

std::string firstDifference(const RankResult& a, const RankResult& b) {
  if (a.size() != b.size()) {
    return std::to_string(a.size()) + " tensors, not " + std::to_string(b.size());
  }
  for (std::size_t i = 0; i < a.size(); ++i) {
    const at::Tensor x = a[i].contiguous();
    const at::Tensor y = b[i].contiguous();
    if (x.dtype() == y.dtype() && x.sizes() == y.sizes() &&
        std::memcmp(x.const_data_ptr(), y.const_data_ptr(), x.nbytes()) == 0) {
      continue;
    }
    const at::Tensor difference = (x.to(at::kDouble) - y.to(at::kDouble)).norm();
    return "tensor " + std::to_string(i) + " of " + std::to_string(a.size()) + " differs by " +
           std::to_string(difference.item<double>()) + " of " +
           std::to_string(y.to(at::kDouble).norm().item<double>());
  }
  return "";
}

std::string firstDifference(const std::vector<RankResult>& a, const std::vector<RankResult>& b) {
  if (a.size() != b.size()) return "other numbers of ranks";
  for (std::size_t rank = 0; rank < a.size(); ++rank) {
    const std::string difference = firstDifference(a[rank], b[rank]);
    if (!difference.empty()) return "rank " + std::to_string(rank) + ": " + difference;
  }
  return "";
}

}  // namespace pipetrace::testing
