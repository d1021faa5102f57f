#include "runtime/train/trained_stages.h"

#include <string>
#include <utility>

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

}  // namespace

TrainedStages::TrainedStages(TrainedStagesOptions options, const std::vector<int>& stages)
    : options_(std::move(options)),
      cut_(cutModel(options_.model, options_.partition, options_.partition.numStages())),
      agreement_(options_.lossScale, options_.clipNorm) {
  if (options_.device != nullptr) current_.emplace(*options_.device);
  requireAutocast(options_.precision,
                  options_.device == nullptr ? c10::kCPU : options_.device->device().type());
  for (const int stage : stages) {
    if (stage < 0 || stage >= numStages()) {
      throw Error("stage " + std::to_string(stage) + " is none of the " +
                  std::to_string(numStages()) + " stages of the pipeline");
    }
    stages_[stage] =
        std::make_unique<Stage>(options_.model, cut_.stages[static_cast<std::size_t>(stage)],
                                options_.seed, options_.precision);
    if (options_.device != nullptr) stages_[stage]->moveTo(options_.device->device());
  }
  copyTiedWeights();
}

void TrainedStages::copyTiedWeights() {
  const at::NoGradGuard noGrad;
  for (const std::vector<TiedUse>& uses : cut_.ties) {
    at::Tensor first;
    for (std::size_t use = 0; use < uses.size(); ++use) {
      if (!has(uses[use].stage)) continue;
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

NamedParameters TrainedStages::namedParameters() const {
  NamedParameters all;
  for (const auto& [number, stage] : stages_) {
    for (auto& parameter : stage->namedParameters()) all.push_back(std::move(parameter));
  }
  return all;
}

std::vector<at::Tensor> TrainedStages::parametersOnce(int stage) const {
  const auto isLaterUse = [&](const std::string& name) {
    for (const std::vector<TiedUse>& uses : cut_.ties) {
      for (std::size_t use = 1; use < uses.size(); ++use) {
        const bool isOwn = uses[use].stage == stage;
        if (isOwn && name == std::to_string(uses[use].block) + "." + uses[use].parameter) {
          return true;
        }
      }
    }
    return false;
  };
  std::vector<at::Tensor> once;
  for (const auto& [name, parameter] : at(stage).namedParameters()) {
    if (!isLaterUse(name)) once.push_back(parameter);
  }
  return once;
}

void TrainedStages::keepVersions(bool several) {
  if (!options_.optimizer) throw Error("training needs an optimizer");
  if (hasVersions_ && *hasVersions_ != several) {
    throw Error(
        "the weights were trained by a plan that changes them the other way (with a flush, or "
        "without one); their optimizer cannot go on");
  }
  if (hasVersions_) return;
  hasVersions_ = several;
  if (!several) {
    optimizer_ = options_.optimizer(namedParameters());
    return;
  }
  for (const auto& [number, stage] : stages_) {
    stashes_[number] = std::make_unique<WeightStash>(stage->namedParameters(), options_.optimizer,
                                                     options_.stashUpdate);
  }
}

void TrainedStages::beUsedBy(const void* user, bool toTrain) {
  if (user_ == user) return;
  user_ = user;
  for (const auto& [number, stage] : stages_) stage->beginUse(toTrain);
}

}  // namespace pipetrace
