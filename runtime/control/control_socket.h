#pragma once

#include <string>
#include <utility>

#include "trace/nanoseconds.h"

namespace pipetrace {

/// An open file descriptor, closed when destroyed.
class OwnedFd {
 public:
  OwnedFd() = default;
  explicit OwnedFd(int fd) : fd_(fd) {}
  OwnedFd(OwnedFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  OwnedFd& operator=(OwnedFd&& other) noexcept;
  ~OwnedFd() { reset(); }
  int get() const { return fd_; }
  bool isOpen() const { return fd_ >= 0; }
  void reset() noexcept;

 private:
  int fd_ = -1;
};

/// Waits for connections at a free TCP port of `host`, an address of this host; non-blocking.
/// Throws Error if the system does not allow it.
OwnedFd listenAt(const std::string& host);
/// The port of a socket that listens.
int portOf(const OwnedFd& listener);
/// The next connection, non-blocking; not open if there is none now.
OwnedFd acceptFrom(const OwnedFd& listener);
/// A connection to a socket that listens, non-blocking. Throws Error if there is none within
/// `timeout`.
OwnedFd connectTo(const std::string& host, int port, Nanoseconds timeout);

/// The address of this host, as text, from which it reaches that one. Throws Error if it does not.
std::string addressTowards(const std::string& host, int port);

/// A connection that carries bytes both ways and never blocks.
class ControlSocket {
 public:
  ControlSocket() = default;
  explicit ControlSocket(OwnedFd fd) : fd_(std::move(fd)) {}

  int fd() const { return fd_.get(); }
  bool isOpen() const { return fd_.isOpen(); }
  /// Sends as much as the system takes now and keeps the rest for flush().
  void send(const std::string& bytes);
  void flush();
  bool hasUnsent() const { return !unsent_.empty(); }
  /// Appends what has arrived to received(). Returns whether the other side still can send.
  bool receive();
  std::string& received() { return received_; }
  /// Tells the other side that nothing more comes.
  void endSending();
  void close() { fd_.reset(); }

 private:
  OwnedFd fd_;
  std::string unsent_;
  std::string received_;
};

}  // namespace pipetrace
