#pragma once

#include <functional>
#include <string>

#include "runtime/train/model/model.h"

namespace pipetrace {

/// A figure of the model's results beside the loss, such as the share of right answers.
struct Metric {
  std::string name;
  /// The mean over the micro-batch's rows, one number, from the tensors of Model::lossInputs.
  /// Called without autograd on the ranks of the last stage. Changes none of them in place.
  std::function<at::Tensor(const Tensors& inputs)> value;
};

}  // namespace pipetrace
