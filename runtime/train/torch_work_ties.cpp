// The part of TorchWork that knows of parameters which several stages have in common.
#include <utility>

#include "runtime/train/torch_work.h"
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

std::vector<std::vector<int>> TorchWork::ties() const { return workFlowOf(cut_).ties; }

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

std::vector<at::Tensor> TorchWork::parametersOnce(int stage) const {
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
  for (const auto& [name, parameter] : stages_.at(stage)->namedParameters()) {
    if (!isLaterUse(name)) once.push_back(parameter);
  }
  return once;
}

Message TorchWork::tiedSumOf(int tie, int use) {
  const TiedUse& own = cut_.ties[static_cast<std::size_t>(tie)][static_cast<std::size_t>(use)];
  const at::Tensor& sum = at(own.stage).parameter(own.block, own.parameter).grad();
  return {.tensor = sum.defined() ? sum.clone() : sum};
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

}  // namespace pipetrace
