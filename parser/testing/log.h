#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "parser/job_log/job_log_reader.h"

/// Job logs for tests, and the results of reading them.
namespace pipetrace::test {

struct LogResult {
  Timeline timeline;
  ReadOutcome outcome;
  std::vector<std::string> diagnostics;

  const std::vector<Event>& compute(int rank = 0) const;
  /// "12", "0.500000", "'text'", or "none".
  std::string argument(const Event& event, std::string_view key) const;
};

/// Reads `log` under the name "log".
LogResult readLog(const std::string& log, ReadRequest request = {});

/// The line of a forward job, or of another type, in whole milliseconds.
std::string jobLine(int begin, int end, const std::string& tail = "",
                    const std::string& type = "forward");

}  // namespace pipetrace::test
