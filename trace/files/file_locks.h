#pragma once

#include <sys/stat.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace pipetrace {

/// A lock (flock) that a process holds on a file.
struct FileLock {
  long long process = 0;  ///< id of the process that took it
  bool isShared = false;
};

/// The locks on an open file, as far as /proc/locks lists them.
inline std::vector<FileLock> locksOn(int fd) {
  std::vector<FileLock> found;
  struct stat file {};
  if (fstat(fd, &file) != 0) return found;
  // The device is not compared: some file systems give fstat() another one.
  const std::string inode = ":" + std::to_string(file.st_ino);
  // "1: FLOCK  ADVISORY  WRITE 1234 fd:00:567890 0 EOF"
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    std::istringstream words(line);
    std::string number, type, kind, access, place;
    long long process = 0;
    if (words >> number >> type >> kind >> access >> process >> place && type == "FLOCK" &&
        place.ends_with(inode)) {
      found.push_back({.process = process, .isShared = access == "READ"});
    }
  }
  return found;
}

}  // namespace pipetrace
