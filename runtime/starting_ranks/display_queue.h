#pragma once

#include <string>
#include <utility>

namespace pipetrace {

/// Text on its way to a terminal or a pipe that may be slow. It is written in pieces that do not
/// block once poll(2) says so, so that the program can do other things meanwhile.
class DisplayQueue {
 public:
  /// `fd`: -1 shows nothing.
  explicit DisplayQueue(int fd) : fd_(fd) {}

  /// The text to append to. Stop appending while isFull().
  std::string& pending() { return pending_; }
  bool isFull() const { return pending_.size() > kLimit; }

  /// The descriptor to poll for POLLOUT; -1 when there is nothing to write.
  int pollFd() const { return pending_.empty() ? -1 : fd_; }
  /// Writes a piece. Call it after poll(2) says that the descriptor is ready or has no reader any
  /// more. A reader that is gone is no error: the rest is dropped.
  void writeSome();
  /// Drops the text that has not been written, and all that will be appended.
  void giveUp();
  /// Whether it shows nothing: from the start, or since a write failed.
  bool hasGivenUp() const { return fd_ < 0; }
  /// Call it after appending: it drops the text if nothing is shown.
  void settle() {
    if (fd_ < 0) pending_.clear();
  }

 private:
  static constexpr std::size_t kLimit = 1 << 20;

  int fd_;
  std::string pending_;
};

}  // namespace pipetrace
