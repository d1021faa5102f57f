// The part of TorchWork that knows of parameters which several stages have in common.
#include <utility>

#include "runtime/train/torch_work.h"
#include "trace/error.h"

namespace pipetrace {

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

}  // namespace pipetrace
