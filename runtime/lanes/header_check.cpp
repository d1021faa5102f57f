#include "runtime/lanes/header_check.h"

#include <algorithm>

#include "trace/error.h"

namespace pipetrace {

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
