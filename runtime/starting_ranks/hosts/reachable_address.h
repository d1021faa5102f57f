#pragma once

#include <string>
#include <vector>

#include "trace/nanoseconds.h"
#include "trace/sockets/owned_fd.h"

namespace pipetrace {

/// Finds an address of a host that other hosts reach. The host listens at all of its addresses, and
/// says a token to all who come, as another host may have one of these addresses, too.
class MeetingPoint {
 public:
  /// Listens at `port`, or at any that is free for 0. Throws Error.
  explicit MeetingPoint(int port);

  /// Where it may be reached; at least one.
  const std::vector<std::string>& addresses() const { return addresses_; }
  int port() const { return port_; }
  const std::string& token() const { return token_; }

  /// The descriptor to poll for POLLIN.
  int pollFd() const { return listener_.get(); }
  /// Answers all who have come. Does not wait.
  void answer();
  /// Listens no longer, so that somebody else can at its port.
  void close() { listener_.reset(); }

 private:
  const std::vector<std::string> addresses_;
  const std::string token_;
  OwnedFd listener_;
  int port_ = 0;
};

/// Those of the addresses at which one says the token, in their order. Tries all at once.
std::vector<std::string> reachedOf(const std::vector<std::string>& addresses, int port,
                                   const std::string& token,
                                   Nanoseconds timeout = 4 * kNsPerSecond);

}  // namespace pipetrace
