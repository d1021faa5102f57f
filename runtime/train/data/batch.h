#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <string>

namespace pipetrace {

/// The examples of one training step: the tensors of Model::batch by name, each [rows, …]. A rank
/// may leave out those that none of its blocks needs.
using Batch = std::map<std::string, at::Tensor>;

}  // namespace pipetrace
