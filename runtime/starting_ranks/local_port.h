#pragma once

#include <string>

#include "trace/sockets/owned_fd.h"

namespace pipetrace {

/// A TCP port of an address of this host, for a store that another process serves there. As long as
/// this lives, the system gives it to no program that takes any free port.
class LocalPort {
 public:
  /// `wanted`, or any for 0. Throws Error if somebody listens at `wanted`, or it is out of range.
  explicit LocalPort(int wanted = 0, const std::string& address = "127.0.0.1");
  int number() const { return number_; }

 private:
  OwnedFd socket_;
  int number_ = 0;
};

}  // namespace pipetrace
