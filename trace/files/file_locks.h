#pragma once

#include <vector>

namespace pipetrace {

/// A lock (flock) that a process holds on a file.
struct FileLock {
  long long process = 0;  ///< id of the process that took it
  bool isShared = false;
};

/// The locks on an open file, as far as /proc/locks lists them.
std::vector<FileLock> locksOn(int fd);

}  // namespace pipetrace
