#pragma once

#include <unistd.h>

#include <string>
#include <utility>

#include "trace/error.h"

namespace pipetrace {

/// An open file descriptor, closed when destroyed.
class OwnedFd {
 public:
  OwnedFd() = default;
  explicit OwnedFd(int fd) : fd_(fd) {}
  OwnedFd(OwnedFd&& other) noexcept : fd_(other.release()) {}
  OwnedFd& operator=(OwnedFd&& other) noexcept;
  ~OwnedFd() { reset(); }
  int get() const { return fd_; }
  bool isOpen() const { return fd_ >= 0; }
  void reset() noexcept;
  /// The caller closes it from now on.
  int release() noexcept { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

inline OwnedFd& OwnedFd::operator=(OwnedFd&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = other.release();
  }
  return *this;
}

inline void OwnedFd::reset() noexcept {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

/// The system cannot do what a socket was asked for.
class SocketError : public Error {
 public:
  /// `number`: of errno; 0 where there is none.
  SocketError(const std::string& text, int number) : Error(text), number_(number) {}
  int number() const { return number_; }

 private:
  int number_;
};

}  // namespace pipetrace
