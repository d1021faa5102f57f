#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace pipetrace::bench {

/// Logs of one run, a file per device, in the shape that PaddlePaddle writes.
struct LogShape {
  int devices = 4;
  std::int64_t jobsPerDevice = 0;
  int otherLinesPerJob = 0;  ///< lines of the program between two of ours
};

/// Writes `folder`/workerlog.<device>, unless they are there already, and returns their names.
/// Steps of lr, eight forward, eight backward and optimizer jobs of 5 to 45 ms, one after the
/// other. The same shape always gives the same bytes.
std::vector<std::string> makeLogs(const std::string& folder, const LogShape& shape);

/// Writes a trace of `events` complete events of 8 threads, as a program other than ours would, of
/// about 127 bytes each, unless it is there already.
void makeChromeTrace(const std::string& path, std::int64_t events);

}  // namespace pipetrace::bench
