#pragma once

#include <poll.h>

#include <functional>
#include <utility>
#include <vector>

#include "runtime/control/control_socket.h"
#include "runtime/control/verdict/control_message.h"
#include "trace/nanoseconds.h"

namespace pipetrace {

/// The connections of one rank to its neighbours.
class ControlPeers {
 public:
  /// By rank (meetRanks()).
  explicit ControlPeers(std::vector<ControlSocket> peers) : peers_(std::move(peers)) {}

  /// Sends the message to all. `mayWait`: those who have not taken the last one do not get it.
  void broadcast(const ControlMessage& message, bool mayWait);

  /// Sends the message to one rank, if it has a connection.
  void send(int rank, const ControlMessage& message);

  /// Waits for up to `timeout`: until a connection ends, or, if `forMessages`, until anything
  /// arrives; or until `wake`, a file descriptor, can be read.
  void wait(int wake, Nanoseconds timeout, bool forMessages);

  /// Takes everything that has arrived: first the messages of all ranks, then the ends of
  /// connections, so that no rank is blamed that said why it ends. A connection that the network
  /// lost does not count as closed: the rank is silent, and may live.
  void receive(const std::function<void(int rank, const ControlMessage& message)>& heard,
               const std::function<void(int rank)>& closed);

  /// Sends what is left and closes all connections, within `timeout`.
  void close(Nanoseconds timeout);

 private:
  std::vector<ControlSocket> peers_;  // by rank
  std::vector<pollfd> waiting_;
};

}  // namespace pipetrace
