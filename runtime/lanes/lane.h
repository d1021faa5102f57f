#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "runtime/lanes/message_key.h"
#include "trace/error.h"

namespace pipetrace {

/// Another rank is gone, or has given up: what a rank sees of a failure that began elsewhere.
class PeerLost : public Error {
 public:
  using Error::Error;
};

/// Reads a clock for the times at which messages are sent and arrive; empty: nobody asks for them.
using StampClock = std::function<std::uint64_t()>;

/// The messages of one kind to one other rank, in the order of the plan's sends.
///
/// Threads: one, the rank's compute thread.
template <typename Payload>
class SendLane {
 public:
  virtual ~SendLane() = default;

  /// Hands the message over and goes on, unless the lane holds as many as it can. Throws Error when
  /// the transport was aborted, and PeerLost when the peer is gone.
  virtual void send(const MessageKey& key, Payload&& message) = 0;

  /// The time at which the oldest send that was not asked for yet was done; none: it is not done
  /// yet. Throws Error if it failed. Only with a clock, and then for each send.
  virtual std::optional<std::uint64_t> nextDone() = 0;

  /// Waits until all sends are done.
  virtual void awaitAll() = 0;
};

/// The messages of one kind from one other rank, in the order of the plan's receives, which is
/// that of the other's sends (check.h).
///
/// Threads: one, the rank's compute thread.
template <typename Payload>
class ReceiveLane {
 public:
  /// A message, and when it came (0: without a clock).
  struct Arrival {
    Payload message{};
    std::uint64_t stamp = 0;
  };

  virtual ~ReceiveLane() = default;

  /// Posts the next receive and goes on. Returns its number, for take().
  virtual std::uint64_t post(const MessageKey& key) = 0;

  /// Waits for the message of a posted receive. Each is taken once, in any order. Throws Error that
  /// names the message if it is lost, doubled, overtaken by another or has the wrong type. Throws
  /// Error if the transport was aborted, and PeerLost if the peer is gone.
  virtual Arrival take(std::uint64_t number, const MessageKey& key) = 0;

  /// Whether take() would not wait. A lane that cannot tell says no.
  virtual bool has(std::uint64_t /*number*/) const { return false; }
};

}  // namespace pipetrace
