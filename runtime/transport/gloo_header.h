#pragma once

#include <cstdint>

#include "runtime/lanes/message_header.h"
#include "runtime/transport/message.h"

namespace pipetrace {

/// Counts the formats of headers and tags that there have been: both ends of a message have one.
inline constexpr int kGlooFormat = 5;

/// The fixed-size part that travels with a message's bytes: the message's header, deadline and
/// rows.
struct GlooHeader {
  static constexpr int kWords = 19;
  static constexpr std::int64_t kBytes = kWords * std::int64_t{8};
  /// Where the tensor begins in a buffer that it shares with its header: aligned as LibTorch aligns
  /// memory.
  static constexpr std::int64_t kBodyOffset = 192;

  MessageHeader header;
  Nanoseconds deadline = 0;
  std::int64_t rows = 0;

  /// Into the first kBytes of a tensor of bytes, and back. Throws Error for words that are no
  /// header, or have a type or sizes that cannot be.
  void writeTo(const at::Tensor& buffer) const;
  static GlooHeader readFrom(const at::Tensor& buffer);

  /// Bytes of the tensor that it announces.
  std::int64_t bytes() const;
  /// The announced message. Its tensor has the bytes of `buffer` from `offset` on, a multiple of
  /// 64; a tensor without bytes needs no buffer.
  Message makeMessage(const at::Tensor& buffer, std::int64_t offset) const;
};

}  // namespace pipetrace
