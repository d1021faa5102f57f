#pragma once

#include <string>
#include <utility>

#include "trace/sockets/owned_fd.h"

namespace pipetrace {

/// A connection that carries bytes both ways and never blocks.
class ControlSocket {
 public:
  ControlSocket() = default;
  /// `received`: what was read from it before.
  explicit ControlSocket(OwnedFd fd, std::string received = {})
      : fd_(std::move(fd)), received_(std::move(received)) {}

  int fd() const { return fd_.get(); }
  bool isOpen() const { return fd_.isOpen(); }
  /// Sends as much as the system takes now and keeps the rest for flush().
  void send(const std::string& bytes);
  void flush();
  bool hasUnsent() const { return !unsent_.empty(); }
  /// Appends what has arrived to received(), a MiB at most. Returns whether the other side still
  /// can send.
  bool receive();
  /// Whether the connection ended because nothing came through any more, not because the other side
  /// ended it.
  bool isCutOff() const { return isCutOff_; }
  std::string& received() { return received_; }
  /// Tells the other side that nothing more comes.
  void endSending();
  void close() { fd_.reset(); }

 private:
  OwnedFd fd_;
  std::string unsent_;
  std::string received_;
  bool isCutOff_ = false;
};

}  // namespace pipetrace
