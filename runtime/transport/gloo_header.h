#pragma once

#include <array>
#include <cstdint>

#include "runtime/lanes/message_key.h"
#include "runtime/transport/message.h"

namespace pipetrace {

/// The fixed-size part that travels before a message's bytes: its key, and what is needed to
/// receive the bytes.
class GlooHeader {
 public:
  static constexpr int kWords = 16;
  static constexpr int kMaxDimensions = 8;

  /// Throws Error for tensors of more than kMaxDimensions.
  GlooHeader(const MessageKey& key, const Message& message);
  /// Takes the int64 tensor of kWords that was received.
  explicit GlooHeader(const at::Tensor& words);

  at::Tensor toTensor() const;

  /// Throws Error unless it is a header of `expected`, with a type and shape that make sense.
  void check(const MessageKey& expected) const;
  /// An empty message of the announced type and shape, with the announced deadline.
  Message makeMessage() const;

 private:
  MessageKey key() const;

  std::array<std::int64_t, kWords> words_{};
};

}  // namespace pipetrace
