#include "runtime/transport/message.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <string>

#include "trace/error.h"

namespace pipetrace {

TensorShape shapeOf(const Message& message) {
  TensorShape shape;
  if (!message.tensor.defined()) return shape;
  const auto sizes = message.tensor.sizes();
  if (sizes.size() > shape.sizes.size()) {
    throw Error("a message can have " + std::to_string(shape.sizes.size()) + " dimensions, not " +
                std::to_string(sizes.size()));
  }
  shape.type = static_cast<std::int64_t>(message.tensor.scalar_type());
  shape.dimensions = static_cast<std::int64_t>(sizes.size());
  std::copy(sizes.begin(), sizes.end(), shape.sizes.begin());
  return shape;
}

Message messageOf(const std::vector<double>& numbers) {
  at::Tensor tensor = at::empty({static_cast<std::int64_t>(numbers.size())}, at::kDouble);
  std::copy(numbers.begin(), numbers.end(), tensor.mutable_data_ptr<double>());
  return {.tensor = tensor};
}

std::vector<double> numbersOf(const Message& message) {
  const double* const first = message.tensor.const_data_ptr<double>();
  return {first, first + message.tensor.numel()};
}

}  // namespace pipetrace
