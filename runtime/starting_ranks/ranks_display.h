#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "trace/nanoseconds.h"

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

/// The output of all ranks as it is shown, and which lines are still in sight.
class RanksDisplay {
 public:
  /// `fd`: where it is shown; -1 nowhere.
  explicit RanksDisplay(int fd);

  /// The text to append to. Stop appending while isFull(), and call count() afterwards.
  std::string& pending() { return queue_.pending(); }
  bool isFull() const { return queue_.isFull(); }
  /// Counts the lines that the rank has appended since the text had `before` bytes.
  void count(int rank, std::size_t before);
  /// Whether what is written to `fd` next will stand right below the last line of the rank.
  bool isInSight(int rank, int fd) const;

  /// The descriptor to poll for POLLOUT; -1 when there is nothing to write.
  int pollFd() const { return queue_.pollFd(); }
  /// Writes a piece if that does not block. One that takes nothing for long is given up where that
  /// `isUrgent`. Call it often.
  void show(bool canWrite, bool isUrgent);
  /// Drops the text if nothing is shown.
  void settle() { queue_.settle(); }

 private:
  const int fd_;
  DisplayQueue queue_;
  Nanoseconds lastShown_ = 0;
  std::int64_t lines_ = 0;                // shown so far
  std::map<int, std::int64_t> lastLine_;  // by rank: how many were shown with its last one
};

}  // namespace pipetrace
