#include "schedule/planned_message.h"

#include <cassert>

namespace pipetrace {

PlannedMessage messageOf(const Action& transfer) {
  assert(isTransfer(transfer.kind));
  switch (transfer.kind) {
    case JobKind::kSendForward: return {true, transfer.stage, transfer.microBatch};
    case JobKind::kRecvForward: return {true, transfer.stage - 1, transfer.microBatch};
    case JobKind::kSendBackward: return {false, transfer.stage, transfer.microBatch};
    default: return {false, transfer.stage + 1, transfer.microBatch};
  }
}

Action sendOf(const PlannedMessage& message) {
  return {transferKind(true, message.forward), message.from, message.microBatch};
}

Action receiveOf(const PlannedMessage& message) {
  return {transferKind(false, message.forward), message.to(), message.microBatch};
}

PlannedMessages messagesTo(const Action& compute) {
  PlannedMessages messages;
  if (!compute.isFirstPart()) return messages;
  switch (compute.kind) {
    case JobKind::kForward: messages.add({true, compute.stage - 1, compute.microBatch}); break;
    case JobKind::kBackward:
    case JobKind::kBackwardInput:
      messages.add({false, compute.stage + 1, compute.microBatch});
      break;
    case JobKind::kForwardBackward:
      messages.add({true, compute.stage - 1, compute.microBatch});
      messages.add({false, compute.backwardStage + 1, compute.backwardMicroBatch});
      break;
    default: break;
  }
  return messages;
}

PlannedMessages messagesFrom(const Action& compute) {
  PlannedMessages messages;
  if (!compute.isLastPart()) return messages;
  switch (compute.kind) {
    case JobKind::kForward: messages.add({true, compute.stage, compute.microBatch}); break;
    case JobKind::kBackward:
    case JobKind::kBackwardInput: messages.add({false, compute.stage, compute.microBatch}); break;
    case JobKind::kForwardBackward:
      messages.add({true, compute.stage, compute.microBatch});
      messages.add({false, compute.backwardStage, compute.backwardMicroBatch});
      break;
    default: break;
  }
  return messages;
}

}  // namespace pipetrace
