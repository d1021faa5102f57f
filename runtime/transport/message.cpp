#include "runtime/transport/message.h"

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

}  // namespace pipetrace
