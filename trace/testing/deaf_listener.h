#pragma once

#include <sys/socket.h>

#include <stdexcept>
#include <utility>
#include <vector>

#include "trace/error.h"
#include "trace/sockets/tcp.h"

namespace pipetrace::test {

/// A socket of 127.0.0.1 whose queue is full: the system answers no more connections, as where
/// packets are lost.
class DeafListener {
 public:
  DeafListener() {
    listen(socket_.get(), 0);
    try {
      while (queued_.size() < 100) queued_.push_back(connectTo("127.0.0.1", port(), kOneTry));
    } catch (const Error&) {
      return;
    }
    throw std::logic_error("the system answers more connections than the queue has room for");
  }

  int port() const { return portOf(socket_); }
  /// The socket, with an empty queue, for somebody who answers.
  OwnedFd emptied() {
    while (acceptFrom(socket_).isOpen()) continue;
    return std::move(socket_);
  }

 private:
  static constexpr Nanoseconds kOneTry = 100 * kNsPerMs;

  OwnedFd socket_ = bindAt("127.0.0.1");
  std::vector<OwnedFd> queued_;
};

}  // namespace pipetrace::test
