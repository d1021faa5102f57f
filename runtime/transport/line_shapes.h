#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "runtime/lanes/message_header.h"
#include "runtime/lanes/message_key.h"

namespace pipetrace {

/// The shapes of a lane's messages without headers. Both ends see those of a run's first step, and
/// have the same rule for all others. A length that was the number of the micro-batch's rows
/// follows it; all others stay.
class LineShapes {
 public:
  /// A message of the first step, whose micro-batch has that many rows; 0: nobody knows.
  void note(const MessageKey& key, const TensorShape& shape, std::int64_t rows);

  /// The shape of a message of a later step. Throws Error for one that the first step did not have.
  TensorShape of(const MessageKey& key, std::int64_t rows) const;
  /// Throws Error for a message with another shape than of().
  void require(const MessageKey& key, const TensorShape& shape, std::int64_t rows) const;

 private:
  struct Known {
    TensorShape shape;
    bool followsRows = false;
  };
  std::map<std::pair<int, int>, Known> known_;  // by stage and micro-batch
};

}  // namespace pipetrace
