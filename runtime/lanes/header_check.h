#pragma once

#include <utility>
#include <vector>

#include "runtime/lanes/message_header.h"

namespace pipetrace {

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
