#include "runtime/lanes/message_header.h"

#include <algorithm>

#include "trace/error.h"

namespace pipetrace {

std::string problemOf(const MessageHeader& got, const MessageHeader& expected) {
  if (got.key == expected.key && got.sequence == expected.sequence) return "";
  if (got.sequence < expected.sequence) {
    return toText(got.key) + " came twice, where " + toText(expected.key) + " was due";
  }
  if (got.sequence > expected.sequence) {
    return toText(expected.key) + " did not come: it was lost, or overtaken by " + toText(got.key);
  }
  return "the peer sent " + toText(got.key) + " instead of " + toText(expected.key) +
         "; do all ranks run the same schedule?";
}

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

void HeaderCheck::require(const MessageHeader& got, const MessageHeader& expected, int rank,
                          int from) {
  const auto refuse = [&](const std::string& problem) {
    throw Error("rank " + std::to_string(rank) + " gave up " + waitingFor(expected.key, from) +
                ": " + problem);
  };
  if (got.key != expected.key || got.sequence != expected.sequence) {
    refuse(problemOf(got, expected));
  }
  const int stage = expected.key.stage;
  const auto first = std::find_if(first_.begin(), first_.end(),
                                  [&](const auto& each) { return each.first == stage; });
  if (first == first_.end()) {
    first_.emplace_back(stage, got.shape);
    return;
  }
  if (const std::string problem = problemOf(got.shape, first->second); !problem.empty()) {
    refuse("it cannot be right: " + problem);
  }
}

std::string waitingFor(const MessageKey& key, int from) {
  return "waiting for " + toText(key) + " from rank " + std::to_string(from);
}

std::string sending(const MessageKey& key, int to) {
  return "sending " + toText(key) + " to rank " + std::to_string(to);
}

}  // namespace pipetrace
