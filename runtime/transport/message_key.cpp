#include "runtime/transport/message_key.h"

namespace pipetrace {

std::string toText(const Channel& channel) {
  return std::string("the ") +
         (channel.direction == Direction::kForward ? "activations" : "gradients") +
         " of micro-batch " + std::to_string(channel.microBatch) + " for stage " +
         std::to_string(channel.stage) + " in step " + std::to_string(channel.step);
}

}  // namespace pipetrace
