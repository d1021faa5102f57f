#pragma once

#include <functional>
#include <string>

#include "runtime/lanes/message_key.h"
#include "runtime/transport/message.h"

namespace pipetrace {

/// Moves messages between the ranks of one pipeline. Messages are matched by key, so the order
/// in which a rank sends and the order in which its peers receive are independent of each other.
///
/// Threads: send() from one thread, recv() from one other, abort() from any.
class Transport {
 public:
  /// Waits until the transport is done with a message; throws Error if it could not be delivered.
  /// Call it once, from any one thread.
  using SendCompletion = std::function<void()>;

  virtual ~Transport() = default;

  virtual int rank() const = 0;
  virtual int worldSize() const = 0;

  /// Issues the message at once and returns without waiting for the peer. `to` is another rank: a
  /// result that stays on a rank needs no message. Throws Error when the transport was aborted, the
  /// peer is gone, or `key` is outside the range that the transport can address.
  virtual SendCompletion send(int to, const MessageKey& key, Message message) = 0;

  /// Waits for the message. Throws Error naming the peer when it has failed, was lost, or sent
  /// another message than `key` names.
  virtual Message recv(int from, const MessageKey& key) = 0;

  /// Gives up this rank: wakes its own waits with an Error that says `reason`. Peers that wait for
  /// this rank get an Error too, at the latest when this transport is destroyed.
  virtual void abort(const std::string& reason) noexcept = 0;

  /// Ends in order: waits until all ranks are here, so that no message is cut off. Throws Error if
  /// a peer is gone.
  virtual void finish() = 0;
};

}  // namespace pipetrace
