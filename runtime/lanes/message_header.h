#pragma once

#include <cstdint>
#include <string>

#include "runtime/lanes/message_key.h"
#include "runtime/lanes/tensor_shape.h"

namespace pipetrace {

/// The description that travels with a message. The receiver knows what must come and compares it.
struct MessageHeader {
  MessageKey key;
  /// The messages of its lane before it, over all steps.
  std::uint64_t sequence = 0;
  TensorShape shape;

  bool operator==(const MessageHeader&) const = default;
};

/// Says how the message `got` differs from `expected`, which was due (its shape does not count).
/// It was doubled, lost or overtaken, or is another one than the plan has. Empty: it does not.
std::string problemOf(const MessageHeader& got, const MessageHeader& expected);

}  // namespace pipetrace
