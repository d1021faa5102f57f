#pragma once

#include <ATen/ops/empty.h>

#include <algorithm>
#include <vector>

#include "runtime/transport/message.h"

namespace pipetrace {

/// Doubles of the host's as a message (RankMessages::sendOnHost()), and back. At least one.
inline Message messageOf(const std::vector<double>& numbers) {
  at::Tensor tensor = at::empty({static_cast<std::int64_t>(numbers.size())}, at::kDouble);
  std::copy(numbers.begin(), numbers.end(), tensor.mutable_data_ptr<double>());
  return {.tensor = tensor};
}

inline std::vector<double> numbersOf(const Message& message) {
  const double* const first = message.tensor.const_data_ptr<double>();
  return {first, first + message.tensor.numel()};
}

}  // namespace pipetrace
