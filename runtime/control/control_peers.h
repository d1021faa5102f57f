#pragma once

#include <poll.h>

#include <functional>
#include <string>
#include <vector>

#include "runtime/control/control_socket.h"
#include "runtime/control/key_value.h"
#include "runtime/control/verdict/control_message.h"
#include "trace/nanoseconds.h"

namespace pipetrace {

/// The connections of one rank to all others.
class ControlPeers {
 public:
  /// Leaves this rank's address in the store and connects to all lower ranks; higher ones come in
  /// later. Throws Error if one does not come within `timeout`.
  ControlPeers(int rank, int worldSize, const std::string& host, KeyValue& store,
               Nanoseconds timeout);

  /// Whether every rank has a connection, or had one.
  bool isComplete() const { return missing_ == 0; }
  /// The ranks without one, for people: "rank 3", "ranks 3 and 5".
  std::string missingRanks() const;

  /// Sends the message to all. `mayWait`: those who have not taken the last one do not get it.
  void broadcast(const ControlMessage& message, bool mayWait);

  /// Waits for up to `timeout`: until a connection ends, or, if `forMessages`, until anything
  /// arrives; or until `wake`, a file descriptor, can be read.
  void wait(int wake, Nanoseconds timeout, bool forMessages);

  /// Takes everything that has arrived: first the messages of all ranks, then the ends of
  /// connections, so that no rank is blamed that said why it ends.
  void receive(const std::function<void(int rank, const ControlMessage& message)>& heard,
               const std::function<void(int rank)>& closed);

  /// Sends what is left and closes all connections, within `timeout`.
  void close(Nanoseconds timeout);

 private:
  void acceptNew();
  bool greet(ControlSocket& stranger);

  const int rank_;
  std::string token_;
  OwnedFd listener_;
  std::vector<ControlSocket> peers_;  // by rank
  std::vector<bool> isKnown_;         // by rank: it is or was connected
  int missing_ = 0;
  std::vector<ControlSocket> strangers_;  // connected, but have not said who they are
  std::vector<pollfd> waiting_;
};

}  // namespace pipetrace
