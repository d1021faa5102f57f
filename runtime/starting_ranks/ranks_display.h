#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "runtime/starting_ranks/display_queue.h"
#include "trace/nanoseconds.h"

namespace pipetrace {

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
