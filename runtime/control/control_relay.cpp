#include "runtime/control/control_relay.h"

#include <algorithm>

namespace pipetrace {

ControlRelay::ControlRelay(int rank, ControlLinks links, Send send)
    : rank_(rank), links_(std::move(links)), send_(std::move(send)) {}

int ControlRelay::passOn(int neighbour, const ControlMessage& message) {
  const int origin = message.rank < 0 ? neighbour : message.rank;
  switch (message.word) {
    case ControlWord::kStatus: {
      if (!isChild(neighbour) || links_.parent < 0) return origin;
      ControlMessage passed = message;
      passed.rank = origin;
      below_[origin] = std::move(passed);
      return origin;
    }
    case ControlWord::kFinished: {
      ControlMessage passed = message;
      passed.rank = origin;
      if (links_.parent >= 0) send_(links_.parent, passed);
      return origin;
    }
    case ControlWord::kHello: return origin;
    default: break;
  }
  if (!isNew(message)) return -1;
  flood(message, neighbour);
  return origin;
}

void ControlRelay::tell(ControlMessage message) {
  message.rank = rank_;
  if (message.word == ControlWord::kFinished) {
    if (links_.parent >= 0) send_(links_.parent, message);
  } else if (isNew(message)) {
    flood(message, -1);
  }
}

void ControlRelay::beat(ControlMessage status) {
  status.rank = rank_;
  for (const int neighbour : links_.neighbours) send_(neighbour, status);
  for (const auto& [origin, one] : below_) send_(links_.parent, one);
  below_.clear();
}

// A cause that several ranks notice is passed on once.
bool ControlRelay::isNew(const ControlMessage& message) {
  std::pair<CauseKind, int> cause{CauseKind::kDied, -1};
  if (message.word == ControlWord::kNoticed) cause = {message.cause.kind, message.cause.rank};
  return known_.insert({message.word, cause}).second;
}

bool ControlRelay::isChild(int rank) const {
  return std::binary_search(links_.children.begin(), links_.children.end(), rank);
}

void ControlRelay::flood(const ControlMessage& message, int except) {
  for (const int neighbour : links_.neighbours) {
    if (neighbour != except) send_(neighbour, message);
  }
}

}  // namespace pipetrace
