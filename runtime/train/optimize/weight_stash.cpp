#include "runtime/train/optimize/weight_stash.h"

#include <ATen/ScalarOps.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/add.h>
#include <ATen/ops/addcdiv.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/zeros_like.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/sgd.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "runtime/train/optimize/lamb.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using torch::optim::Optimizer;

/// One parameter: its value before, where the new one goes, its gradient, and what the optimizer
/// knows of it.
struct Step {
  const at::Tensor& from;
  at::Tensor& into;
  at::Tensor gradient;
  std::unique_ptr<torch::optim::OptimizerParamState>& state;
  torch::optim::OptimizerOptions& options;
};

void sgd(const Step& step) {
  const auto& options = static_cast<torch::optim::SGDOptions&>(step.options);
  at::Tensor change = step.gradient;
  if (options.weight_decay() != 0) change = change.add(step.from, options.weight_decay());
  if (options.momentum() != 0) {
    at::Tensor momentum;
    if (!step.state) {
      momentum = change.clone();
      auto state = std::make_unique<torch::optim::SGDParamState>();
      state->momentum_buffer(momentum);
      step.state = std::move(state);
    } else {
      momentum = static_cast<torch::optim::SGDParamState&>(*step.state).momentum_buffer();
      momentum.mul_(options.momentum()).add_(change, 1 - options.dampening());
    }
    change = options.nesterov() ? change.add(momentum, options.momentum()) : momentum;
  }
  at::add_out(step.into, step.from, change, -1 * options.lr());
}

// Both have the same state under different names.
template <typename State, typename Options>
void adam(const Step& step, bool decaysWeights) {
  const auto& options = static_cast<Options&>(step.options);
  if (!step.state) {
    auto state = std::make_unique<State>();
    state->step(0);
    state->exp_avg(at::zeros_like(step.from));
    state->exp_avg_sq(at::zeros_like(step.from));
    step.state = std::move(state);
  }
  auto& state = static_cast<State&>(*step.state);
  state.step(state.step() + 1);
  const auto [beta1, beta2] = options.betas();
  const double correction1 = 1 - std::pow(beta1, state.step());
  const double correction2 = 1 - std::pow(beta2, state.step());
  at::Tensor gradient = step.gradient;
  const double decay = options.weight_decay();
  if (decay != 0 && !decaysWeights) gradient = gradient.add(step.from, decay);
  state.exp_avg().mul_(beta1).add_(gradient, 1 - beta1);
  state.exp_avg_sq().mul_(beta2).addcmul_(gradient, gradient, 1 - beta2);
  const at::Tensor divisor =
      (state.exp_avg_sq().sqrt() / std::sqrt(correction2)).add_(options.eps());
  const double size = options.lr() / correction1;
  if (decay != 0 && decaysWeights) {
    at::mul_out(step.into, step.from, at::native::wrapped_scalar_tensor(1 - options.lr() * decay));
    step.into.addcdiv_(state.exp_avg(), divisor, -size);
  } else {
    at::addcdiv_out(step.into, step.from, state.exp_avg(), divisor, -size);
  }
}

template <typename Do>
void forEach(Optimizer& optimizer, const std::vector<at::Tensor>& parameters,
             const std::vector<at::Tensor>& from, std::vector<at::Tensor>& into, const Do& run) {
  std::map<const void*, std::size_t> indices;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    indices[parameters[i].unsafeGetTensorImpl()] = i;
  }
  const at::NoGradGuard noGrad;
  for (auto& group : optimizer.param_groups()) {
    for (const at::Tensor& parameter : group.params()) {
      const std::size_t i = indices.at(parameter.unsafeGetTensorImpl());
      if (!parameter.grad().defined()) {
        into[i].copy_(from[i]);
        continue;
      }
      auto& state = optimizer.state()[parameter.unsafeGetTensorImpl()];
      run(Step{from[i], into[i], parameter.grad(), state, group.options()});
      if (!state) optimizer.state().erase(parameter.unsafeGetTensorImpl());
    }
  }
}

template <typename Options>
bool hasAmsgrad(Optimizer& optimizer) {
  for (auto& group : optimizer.param_groups()) {
    if (static_cast<Options&>(group.options()).amsgrad()) return true;
  }
  return false;
}

}  // namespace

bool stepInto(Optimizer& optimizer, const std::vector<at::Tensor>& parameters,
              const std::vector<at::Tensor>& from, std::vector<at::Tensor>& into) {
  using namespace torch::optim;
  if (dynamic_cast<SGD*>(&optimizer) != nullptr) {
    forEach(optimizer, parameters, from, into, sgd);
    return true;
  }
  if (dynamic_cast<Adam*>(&optimizer) != nullptr && !hasAmsgrad<AdamOptions>(optimizer)) {
    forEach(optimizer, parameters, from, into,
            [](const Step& step) { adam<AdamParamState, AdamOptions>(step, false); });
    return true;
  }
  if (dynamic_cast<AdamW*>(&optimizer) != nullptr && !hasAmsgrad<AdamWOptions>(optimizer)) {
    forEach(optimizer, parameters, from, into,
            [](const Step& step) { adam<AdamWParamState, AdamWOptions>(step, true); });
    return true;
  }
  if (dynamic_cast<Lamb*>(&optimizer) != nullptr) {
    forEach(optimizer, parameters, from, into, [](const Step& step) {
      lambStep(step.from, step.into, step.gradient, step.state,
               static_cast<const LambOptions&>(step.options));
    });
    return true;
  }
  return false;
}

WeightStash::WeightStash(const NamedParameters& handles, const OptimizerMaker& makeOptimizer,
                         StashUpdate rule)
    : handles_(tensorsOf(handles)), rule_(rule) {
  Version first;
  NamedParameters masters;
  for (const auto& [name, handle] : handles) {
    // Not detach(): that would share the handle's count of changes in place, and an update would
    // then make backwards of other versions fail.
    first.values.push_back(handle.variable_data());
    names_.push_back(name);
    masters.emplace_back(name, handle.variable_data().requires_grad_());
  }
  versions_[0] = std::move(first);
  masters_ = tensorsOf(masters);
  optimizer_ = makeOptimizer(masters);
}

NamedParameters WeightStash::masters() const {
  NamedParameters all;
  for (std::size_t i = 0; i < names_.size(); ++i) all.emplace_back(names_[i], masters_[i]);
  return all;
}

int WeightStash::usesOf(int version) const {
  const auto v = static_cast<std::size_t>(version);
  return v < uses_.size() ? uses_[v] : 0;
}

void WeightStash::beginStep(std::vector<int> uses) {
  Version last = std::move(versions_.at(newest_));
  versions_.erase(newest_);
  // After a step that was given up others may be left.
  for (auto& [number, version] : versions_) free_.push_back(std::move(version.values));
  versions_.clear();
  uses_ = std::move(uses);
  last.usesLeft = usesOf(0);
  const bool isInUse = used_ == newest_;
  newest_ = 0;
  versions_[0] = std::move(last);
  used_ = isInUse ? 0 : -1;
}

void WeightStash::use(int version) {
  if (version == used_) return;
  const auto found = versions_.find(version);
  if (found == versions_.end()) {
    throw Error("version " + std::to_string(version) + " of the weights is not kept");
  }
  for (std::size_t i = 0; i < handles_.size(); ++i) {
    at::Tensor handle = handles_[i];
    handle.set_data(found->second.values[i]);
  }
  used_ = version;
}

void WeightStash::release(int version) {
  --versions_.at(version).usesLeft;
  // An update from the version that was used comes first.
  if (rule_ == StashUpdate::kNewest) dropUnused();
}

void WeightStash::dropUnused() {
  for (auto version = versions_.begin(); version != versions_.end();) {
    if (version->second.usesLeft > 0 || version->first == newest_) {
      ++version;
      continue;
    }
    if (used_ == version->first) used_ = -1;
    free_.push_back(std::move(version->second.values));
    version = versions_.erase(version);
  }
}

std::vector<at::Tensor> WeightStash::takeFree() {
  if (!free_.empty()) {
    std::vector<at::Tensor> values = std::move(free_.back());
    free_.pop_back();
    return values;
  }
  std::vector<at::Tensor> values;
  for (const at::Tensor& handle : handles_)
    values.push_back(at::empty_like(handle.variable_data()));
  return values;
}

void WeightStash::update(int usedVersion) {
  const int source = rule_ == StashUpdate::kNewest ? newest_ : usedVersion;
  Version& from = versions_.at(source);
  for (std::size_t i = 0; i < handles_.size(); ++i) {
    masters_[i].mutable_grad() = handles_[i].grad();
    at::Tensor(handles_[i]).mutable_grad() = at::Tensor();
  }
  Version next{.usesLeft = usesOf(newest_ + 1)};
  const bool isFree = from.usesLeft == 0;
  if (isFree) {
    next.values = std::move(from.values);
    versions_.erase(source);
    if (used_ == source) used_ = -1;
  } else {
    next.values = takeFree();
  }
  if (isFree || !stepInto(*optimizer_, masters_, from.values, next.values)) {
    const at::NoGradGuard noGrad;
    for (std::size_t i = 0; i < handles_.size(); ++i) {
      if (!isFree) {
        next.values[i].copy_(from.values[i]);
        copiedBytes_ += static_cast<std::int64_t>(next.values[i].nbytes());
      }
      masters_[i].set_data(next.values[i]);
    }
    optimizer_->step();
  }
  for (at::Tensor& master : masters_) master.mutable_grad() = at::Tensor();
  versions_[++newest_] = std::move(next);
  use(newest_);  // who looks at the parameters after the step sees the last ones
  dropUnused();
  mostHeld_ = std::max(mostHeld_, held());
}

}  // namespace pipetrace
