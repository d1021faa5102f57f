#pragma once

#include <string>

#include "trace/error.h"
#include "trace/sockets/owned_fd.h"
#include "trace/sockets/tcp.h"

namespace pipetrace {

/// A TCP port of an address of this host, for a store that another process serves there. As long as
/// this lives, the system gives it to no program that takes any free port.
class LocalPort {
 public:
  /// `wanted`, or any for 0. Throws Error if somebody listens at `wanted`, or it is out of range.
  explicit LocalPort(int wanted = 0, const std::string& address = "127.0.0.1") {
    if (wanted < 0 || wanted > 65535) {
      throw Error("there is no port " + std::to_string(wanted) + " of " + address);
    }
    try {
      socket_ = bindAt(address, wanted);
    } catch (const Error& e) {
      throw Error(std::string(e.what()) + "; choose another, or none to get a free one");
    }
    number_ = portOf(socket_);
  }
  int number() const { return number_; }

 private:
  OwnedFd socket_;
  int number_ = 0;
};

}  // namespace pipetrace
