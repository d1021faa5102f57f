#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "runtime/lanes/message_key.h"

namespace pipetrace {

/// The element type and the sizes of a message's tensor, without the library that has the tensor.
struct TensorShape {
  static constexpr int kMaxDimensions = 8;
  static constexpr std::int64_t kNoTensor = -1;

  std::int64_t type = kNoTensor;  ///< the tensor library's number of it
  std::int64_t dimensions = 0;
  std::array<std::int64_t, kMaxDimensions> sizes{};

  bool operator==(const TensorShape&) const = default;
};

/// "3 × 128", "a single number", "no tensor".
std::string toText(const TensorShape& shape);

/// Why a message of this shape cannot follow one of the shape `first` on the same lane to the same
/// stage; empty: it can. Type and number of dimensions stay the same; sizes may differ from
/// micro-batch to micro-batch.
std::string problemOf(const TensorShape& shape, const TensorShape& first);

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

/// Compares the headers of one lane's messages with what must come.
class HeaderCheck {
 public:
  /// Throws Error for another message than `expected` (its shape does not count), and for one whose
  /// shape does not go with the first to its stage. It names rank, message and sender.
  void require(const MessageHeader& got, const MessageHeader& expected, int rank, int from);

 private:
  std::vector<std::pair<int, TensorShape>> first_;  // by stage, as they come
};

/// "waiting for the activations of … from rank 0".
std::string waitingFor(const MessageKey& key, int from);
/// "sending the activations of … to rank 1".
std::string sending(const MessageKey& key, int to);

}  // namespace pipetrace
