#pragma once

#include <torch/optim/optimizer.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/train/optimize/optimizer_maker.h"

namespace pipetrace {

/// Does what `optimizer.step()` does, but reads the parameters' values from `from` and writes the
/// new ones into `into`, other memory of the same shapes. `parameters` are those that the optimizer
/// has; their gradients count, undefined ones change nothing. By index of `parameters`.
///
/// The bits are those of torch::optim 2.11's SGD, Adam and AdamW and of Lamb, whose state it keeps.
/// Returns false, and has done nothing, for other optimizers and for amsgrad.
bool stepInto(torch::optim::Optimizer& optimizer, const std::vector<at::Tensor>& parameters,
              const std::vector<at::Tensor>& from, std::vector<at::Tensor>& into);

/// Which version an update of an asynchronous plan starts from.
enum class StashUpdate {
  kNewest,  ///< the newest there is (PipeDream, Narayanan et al. 2019)
  kOldest,  ///< the one that the micro-batch's forward used: of four, 0 becomes 4 (VPipe)
};

/// The weights of one stage in a plan without a flush: as many versions as its micro-batches in
/// flight need. Versions count from 0 in each step; version 0 of a step is the last of the step
/// before.
///
/// The modules' parameters are handles that use() points at a version, without copying. An update
/// that must leave its source alone writes the new version into free memory (stepInto()), or, for
/// other optimizers, copies first.
///
/// Threads: one.
class WeightStash {
 public:
  /// `handles`: the parameters in the modules. The optimizer is made over parameters of the same
  /// names and values.
  WeightStash(const NamedParameters& handles, const OptimizerMaker& makeOptimizer,
              StashUpdate rule);

  /// `uses`: by version, how many micro-batches of the step use it.
  void beginStep(std::vector<int> uses);
  /// The handles have the values of that version now. Throws Error if it is not kept.
  void use(int version);
  /// A micro-batch that used the version needs it no longer.
  void release(int version);
  /// Makes the next version from the handles' gradients, which are cleared, and points the handles
  /// at it. `usedVersion`: that of the micro-batch whose backward came last.
  void update(int usedVersion);

  torch::optim::Optimizer& optimizer() { return *optimizer_; }
  /// The parameters as the optimizer has them, with their names.
  NamedParameters masters() const;
  int newest() const { return newest_; }
  /// Versions kept now, and the most so far.
  int held() const { return static_cast<int>(versions_.size()); }
  int mostHeld() const { return mostHeld_; }
  /// Parameters' bytes that were copied so far, by updates of optimizers that need it.
  std::int64_t copiedBytes() const { return copiedBytes_; }

 private:
  struct Version {
    std::vector<at::Tensor> values;
    int usesLeft = 0;
  };

  int usesOf(int version) const;
  void dropUnused();
  std::vector<at::Tensor> takeFree();

  const std::vector<at::Tensor> handles_;
  std::vector<std::string> names_;
  const StashUpdate rule_;
  std::vector<at::Tensor> masters_;  // what the optimizer has
  std::unique_ptr<torch::optim::Optimizer> optimizer_;
  std::map<int, Version> versions_;
  std::vector<std::vector<at::Tensor>> free_;
  std::vector<int> uses_;
  int used_ = 0;  // by the handles
  int newest_ = 0;
  int mostHeld_ = 1;
  std::int64_t copiedBytes_ = 0;
};

}  // namespace pipetrace
