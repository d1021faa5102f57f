#pragma once

#include <torch/optim/optimizer.h>

#include <vector>

namespace pipetrace {

/// Does what `optimizer.step()` does, but reads the parameters' values from `from` and writes the
/// new ones into `into`, other memory of the same shapes. `parameters` are those that the optimizer
/// has; their gradients count, undefined ones change nothing. By index of `parameters`.
///
/// The bits are those of torch::optim 2.11's SGD, Adam and AdamW and of Lamb, whose state it keeps.
/// Returns false, and has done nothing, for other optimizers and for amsgrad.
bool stepInto(torch::optim::Optimizer& optimizer, const std::vector<at::Tensor>& parameters,
              const std::vector<at::Tensor>& from, std::vector<at::Tensor>& into);

}  // namespace pipetrace
