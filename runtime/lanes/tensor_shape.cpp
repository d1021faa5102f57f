#include "runtime/lanes/tensor_shape.h"

namespace pipetrace {

std::string toText(const TensorShape& shape) {
  if (shape.type == TensorShape::kNoTensor) return "no tensor";
  if (shape.dimensions == 0) return "a single number";
  std::string text;
  for (std::int64_t i = 0; i < shape.dimensions; ++i) {
    if (i > 0) text += " × ";
    text += std::to_string(shape.sizes[static_cast<std::size_t>(i)]);
  }
  return text;
}

std::string problemOf(const TensorShape& shape, const TensorShape& first) {
  if (shape.type != first.type) {
    if (shape.type == TensorShape::kNoTensor || first.type == TensorShape::kNoTensor) {
      return "it has " + toText(shape) + ", where earlier ones had " + toText(first);
    }
    return "its numbers are of type " + std::to_string(shape.type) +
           ", where those of earlier ones were of type " + std::to_string(first.type);
  }
  if (shape.dimensions != first.dimensions) {
    return "its shape is " + toText(shape) + ", where an earlier one's was " + toText(first);
  }
  return "";
}

}  // namespace pipetrace
