#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace pipetrace::bench {

/// The shape of the logs of one run: a file per device, as PaddlePaddle writes it.
struct LogShape {
  int devices = 4;
  std::int64_t jobsPerDevice = 0;
  int otherLinesPerJob = 0;  ///< lines of the program between two job lines
};

/// Writes `folder`/workerlog.<device>, unless they are there already, and returns their names. A
/// step has lr, eight forward, eight backward and optimizer jobs of 5 to 45 ms, one after the
/// other. The same shape always gives the same bytes.
std::vector<std::string> makeLogs(const std::string& folder, const LogShape& shape);

/// Writes a trace of `events` complete events of 8 threads, as another program would, unless it is
/// there already. An event has about 127 bytes.
void makeChromeTrace(const std::string& path, std::int64_t events);

}  // namespace pipetrace::bench
