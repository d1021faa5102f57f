#include "runtime/train/optimize/weight_stash.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_like.h>

#include <algorithm>
#include <string>
#include <utility>

#include "runtime/train/optimize/step_into.h"
#include "trace/error.h"

namespace pipetrace {

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
