#pragma once

#include <fstream>
#include <string>

namespace pipetrace::test {

/// Whether a process has ended, waited for or not. It may end while this looks.
inline bool hasEnded(int pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/stat");
  std::string stat;
  std::getline(in, stat);  // empty as well where the process ends before it is read
  const std::size_t name = stat.rfind(") ");  // "17 (a name) Z …"
  return name == std::string::npos || stat[name + 2] == 'Z' || stat[name + 2] == 'X';
}

}  // namespace pipetrace::test
