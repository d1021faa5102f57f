#include "runtime/lanes/message_key.h"

namespace pipetrace {

std::string toText(const MessageKey& key) {
  if (key.direction == Direction::kBetweenCopies) {
    return "another copy's gradients of stage " + std::to_string(key.stage) + " in step " +
           std::to_string(key.step);
  }
  if (LaneName(key.direction, key.tensor) == kAgreementLane) {
    return "what all ranks agree on in step " + std::to_string(key.step);
  }
  if (LaneName(key.direction, key.tensor) == kLossLane) {
    return "the losses of step " + std::to_string(key.step);
  }
  if (isOfHost({key.direction, key.tensor})) {
    return "the number of rows in step " + std::to_string(key.step);
  }
  if (key.direction == Direction::kAcknowledgement) return "an acknowledgement";
  const std::string which = key.tensor == 0 ? "" : "tensor " + std::to_string(key.tensor) + " of ";
  return which + "the " + (key.direction == Direction::kForward ? "activations" : "gradients") +
         " of micro-batch " + std::to_string(key.microBatch) + " for stage " +
         std::to_string(key.stage) + " in step " + std::to_string(key.step);
}

}  // namespace pipetrace
