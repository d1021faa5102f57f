#pragma once

#include <vector>

namespace pipetrace {

/// A lock (flock) that somebody holds on a file.
struct FileLock {
  long long process = 0;  ///< that took it
  bool isShared = false;
};

/// Those on an open file, as far as the system tells of them (/proc/locks).
std::vector<FileLock> locksOn(int fd);

}  // namespace pipetrace
