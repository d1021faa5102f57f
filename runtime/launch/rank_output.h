#pragma once

#include <deque>
#include <string>
#include <string_view>

#include "profiler/process/log_file.h"

namespace pipetrace {

/// The output of one rank: cut into lines, appended to its log, kept for the display, and the last
/// lines remembered. Not thread-safe.
class RankOutput {
 public:
  /// A longer line is broken, so that a rank that never ends its line cannot fill the memory.
  static constexpr std::size_t kLongestLine = 64 * 1024;

  RankOutput(int rank, const std::string& logPath);

  /// Adds bytes that were read. Lines that they complete go to the log in one write and, each with
  /// the rank before it, onto the end of `display`.
  void add(std::string_view bytes, std::string& display);
  /// The rank will print no more: a last line without a newline gets one.
  void finish(std::string& display);

  /// The last lines, each indented by two blanks and ended by a newline; empty if there are none.
  std::string lastLines() const;
  const LogFile& log() const { return log_; }

 private:
  void takeLines(std::string_view lines, std::string& display);

  const std::string prefix_;
  LogFile log_;
  std::string partial_;  // the line that has not ended yet
  std::deque<std::string> last_;
};

}  // namespace pipetrace
