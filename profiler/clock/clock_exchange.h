#pragma once

#include <functional>
#include <memory>
#include <string>

#include "profiler/process/in_forked_child.h"
#include "trace/rank_info.h"
#include "trace/sockets/owned_fd.h"

namespace pipetrace {

/// The clock that a host's ranks use for their logs: ns since the Unix epoch.
using ClockFunction = std::function<Nanoseconds()>;

/// Where a ClockServer answers.
struct ClockPlace {
  std::string address;  ///< a host's name or address
  int port = 0;
  std::string token;  ///< what a client sends first, so that strangers get no answer
};

/// Lets a rank compare clocks with rank 0.
struct RunClock {
  ClockPlace place;
  OwnedFd listener;  ///< of rank 0, which answers there
};

/// Rank 0's end of the comparison of clocks between hosts: answers over TCP what time it is here. A
/// thread of its own serves all clients, one request at a time; a client that does not read its
/// answers is dropped. A child that is forked meanwhile serves nobody and keeps no connection, and
/// may destroy this like its parent.
class ClockServer {
 public:
  /// Listens at `place`, whose address is one of this host. Port 0: any that is free. Throws Error.
  ClockServer(const ClockPlace& place, ClockFunction now);
  /// Answers those who connect to `listener` (listenAt()), also those who did so before.
  ClockServer(OwnedFd listener, std::string token, ClockFunction now);
  ~ClockServer();
  ClockServer(const ClockServer&) = delete;
  ClockServer& operator=(const ClockServer&) = delete;

  int port() const { return port_; }

 private:
  class Impl;
  int port_ = 0;
  std::unique_ptr<UntilFork<Impl>> impl_;
};

/// The other end: asks a ClockServer many times, and takes the answer that came back fastest. The
/// way there and the way back may differ; the bound, half of the round trip, covers that.
class ClockExchange {
 public:
  static constexpr int kRounds = 128;

  /// Connects. Throws Error if that takes longer than `patience`.
  ClockExchange(const ClockPlace& place, ClockFunction now, Nanoseconds patience = kNsPerSecond);

  /// Server's clock = this one's + offset, to within bound. To a host that is far away it takes
  /// fewer rounds, for 0.2 s. Throws Error if the server is gone or
  /// has not answered for a second.
  ClockReading compare(int rounds = kRounds);

  /// In a forked child: lets go of the connection, which is the parent's.
  void abandon() noexcept;

 private:
  const ClockFunction now_;
  const std::string peer_;
  OwnedFd socket_;
};

}  // namespace pipetrace
