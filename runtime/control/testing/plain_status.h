#pragma once

#include <cstdint>

#include "runtime/control/verdict/action_progress.h"
#include "trace/nanoseconds.h"

namespace pipetrace::testing {

/// A rank that computes in an action, after as many ended ones.
inline ActionStatus computing(std::int64_t action, Nanoseconds idle = 0) {
  ActionStatus status;
  status.action = action;
  status.inside = true;
  status.ended = static_cast<std::uint64_t>(action);
  status.idle = idle;
  return status;
}

/// A rank that waits in an action for message `number` of `peer`.
inline ActionStatus waiting(std::int64_t action, int peer, std::uint64_t number,
                            Nanoseconds idle = 0) {
  ActionStatus status = computing(action, idle);
  status.awaited = {.peer = peer, .number = number};
  return status;
}

/// A rank in finish().
inline ActionStatus finishing(std::int64_t action, Nanoseconds idle = 0) {
  ActionStatus status = computing(action, idle);
  status.inside = false;
  status.finishing = true;
  return status;
}

}  // namespace pipetrace::testing
