#include "runtime/starting_ranks/display_queue.h"

#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace pipetrace {

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
