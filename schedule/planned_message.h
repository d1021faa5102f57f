#pragma once

#include "schedule/action.h"

namespace pipetrace {

/// A message in a plan: activations for the next stage, or a gradient for the one before.
struct PlannedMessage {
  bool forward = true;
  int from = 0;  ///< the stage that makes it
  int microBatch = 0;

  int to() const { return forward ? from + 1 : from - 1; }
  bool operator==(const PlannedMessage&) const = default;
};

/// The message that a send or a receive moves: stage 1's "1RECV_F0" takes what stage 0's
/// "0SEND_F0" sends. `transfer` must be a send or a receive.
PlannedMessage messageOf(const Action& transfer);
/// The actions that move a message.
Action sendOf(const PlannedMessage& message);
Action receiveOf(const PlannedMessage& message);

/// The messages that a compute action needs, or makes: at most one in each direction. They may come
/// from no stage (the first has none before it), and may stay on their rank. Where a
/// backward is in parts, the first one needs the gradient, and the last makes the one for the stage
/// before.
struct PlannedMessages {
  PlannedMessage list[2];
  int count = 0;
  void add(const PlannedMessage& message) { list[count++] = message; }
  const PlannedMessage* begin() const { return list; }
  const PlannedMessage* end() const { return list + count; }
};
PlannedMessages messagesTo(const Action& compute);
PlannedMessages messagesFrom(const Action& compute);

}  // namespace pipetrace
