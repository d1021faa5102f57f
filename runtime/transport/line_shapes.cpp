#include "runtime/transport/line_shapes.h"

#include "trace/error.h"

namespace pipetrace {

void LineShapes::note(const MessageKey& key, const TensorShape& shape, std::int64_t rows) {
  known_[{key.stage, key.microBatch}] = {
      .shape = shape, .followsRows = rows > 0 && shape.dimensions > 0 && shape.sizes[0] == rows};
}

TensorShape LineShapes::of(const MessageKey& key, std::int64_t rows) const {
  const auto found = known_.find({key.stage, key.microBatch});
  if (found == known_.end()) throw Error("there was none in the first step");
  TensorShape shape = found->second.shape;
  if (found->second.followsRows) shape.sizes[0] = rows;
  return shape;
}

void LineShapes::require(const MessageKey& key, const TensorShape& shape, std::int64_t rows) const {
  const TensorShape expected = of(key, rows);
  if (shape == expected) return;
  const std::string problem = problemOf(shape, expected);
  if (!problem.empty()) throw Error("it cannot be right: " + problem);
  throw Error("its shape is " + toText(shape) + ", where the other rank waits for " +
              toText(expected) + "; after the first step only the number of rows may change");
}

}  // namespace pipetrace
