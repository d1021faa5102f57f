#pragma once

#include <utility>

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

}  // namespace pipetrace
