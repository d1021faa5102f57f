#include "runtime/starting_ranks/ranks_display.h"

#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>

#include "profiler/clock/wall_clock.h"

namespace pipetrace {

namespace {

// A display that takes nothing for this long is not waited for when the run has failed.
constexpr Nanoseconds kDisplayPatience = 3 * kNsPerSecond;
// A line with fewer lines below it is still in sight.
constexpr std::int64_t kLinesInSight = 20;

/// Whether what is written to both lands in one file, pipe or terminal.
bool areOnePlace(int fd, int other) {
  struct stat a {};
  struct stat b {};
  return fstat(fd, &a) == 0 && fstat(other, &b) == 0 && a.st_dev == b.st_dev &&
         a.st_ino == b.st_ino;
}

}  // namespace

RanksDisplay::RanksDisplay(int fd) : fd_(fd), queue_(fd), lastShown_(monotonicNow()) {}

void RanksDisplay::count(int rank, std::size_t before) {
  const std::string& text = queue_.pending();
  const auto lines =
      std::count(text.begin() + static_cast<std::ptrdiff_t>(before), text.end(), '\n');
  lines_ += lines;
  if (lines > 0) lastLine_[rank] = lines_;
}

bool RanksDisplay::isInSight(int rank, int fd) const {
  const auto found = lastLine_.find(rank);
  return found != lastLine_.end() && !queue_.hasGivenUp() && areOnePlace(fd_, fd) &&
         lines_ - found->second < kLinesInSight;
}

void RanksDisplay::show(bool canWrite, bool isUrgent) {
  if (canWrite) queue_.writeSome();
  const Nanoseconds now = monotonicNow();
  if (!isUrgent || canWrite || queue_.pollFd() < 0) lastShown_ = now;
  if (now - lastShown_ > kDisplayPatience) queue_.giveUp();
}

void DisplayQueue::writeSome() {
  // A pipe that polls as writable takes PIPE_BUF bytes without blocking.
  const std::size_t size = std::min<std::size_t>(pending_.size(), PIPE_BUF);
  const ssize_t n = write(fd_, pending_.data(), size);
  if (n >= 0) {
    pending_.erase(0, static_cast<std::size_t>(n));
  } else if (errno != EINTR && errno != EAGAIN) {
    giveUp();
  }
}

void DisplayQueue::giveUp() {
  fd_ = -1;
  pending_.clear();
}

}  // namespace pipetrace
