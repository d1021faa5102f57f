#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace pipetrace::bench {

/// A process that writes logs again as a running program would: a piece of each every 10 ms. Ends
/// with the object, or when the logs do.
class LogReplay {
 public:
  /// Writes `linesPerSecond`, over all logs, into files of the same names in `folder`, which is
  /// emptied first. Forks: make it before there are threads.
  LogReplay(const std::vector<std::string>& logs, const std::string& folder, int linesPerSecond);
  ~LogReplay();
  LogReplay(const LogReplay&) = delete;
  LogReplay& operator=(const LogReplay&) = delete;

 private:
  pid_t child_ = -1;
};

}  // namespace pipetrace::bench
