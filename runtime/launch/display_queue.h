#pragma once

#include <string>
#include <utility>

namespace pipetrace {

/// Text on its way to a terminal or a pipe that may be slow: written in pieces that do not block
/// once poll(2) says so, so that the one who writes can see to other things meanwhile.
class DisplayQueue {
 public:
  /// `fd`: -1 shows nothing.
  explicit DisplayQueue(int fd) : fd_(fd) {}

  /// To append to. Whoever has a lot to say should stop while isFull().
  std::string& pending() { return pending_; }
  bool isFull() const { return pending_.size() > kLimit; }

  /// What to poll for POLLOUT; -1 when there is nothing to write.
  int pollFd() const { return pending_.empty() ? -1 : fd_; }
  /// After poll(2) said that it can be written to, or that nobody reads any more. A reader that is
  /// gone is no error: the rest goes nowhere.
  void writeSome();
  /// Forgets what has not been written, and all that will be appended.
  void giveUp();
  /// Whether it shows nothing: from the start, or since a write failed.
  bool hasGivenUp() const { return fd_ < 0; }
  /// After appending: drops it if nothing is shown.
  void settle() {
    if (fd_ < 0) pending_.clear();
  }

 private:
  static constexpr std::size_t kLimit = 1 << 20;

  int fd_;
  std::string pending_;
};

}  // namespace pipetrace
