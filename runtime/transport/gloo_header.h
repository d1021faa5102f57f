#pragma once

#include <cstdint>

#include "runtime/lanes/message_header.h"
#include "runtime/transport/message.h"

namespace pipetrace {

/// The fixed-size part that travels with a message's bytes: the message's header and deadline.
struct GlooHeader {
  static constexpr int kWords = 18;

  MessageHeader header;
  Nanoseconds deadline = 0;

  /// An int64 tensor of kWords, and back. Throws Error for words that are no header, or have a type
  /// or sizes that cannot be.
  at::Tensor toTensor() const;
  static GlooHeader fromTensor(const at::Tensor& words);

  /// Bytes of the tensor that it announces.
  std::int64_t bytes() const;
  /// The announced message, with its tensor in the first bytes of `buffer` (undefined: it has
  /// none).
  Message makeMessage(const at::Tensor& buffer) const;
};

}  // namespace pipetrace
