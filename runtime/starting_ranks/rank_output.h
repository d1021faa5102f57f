#pragma once

#include <deque>
#include <string>
#include <string_view>

#include "profiler/process/log_file.h"

namespace pipetrace {

/// Lines as they are shown: each with its origin before it. The last lines are remembered. Not
/// thread-safe.
class ShownLines {
 public:
  /// `origin`: "rank 2", shown as "[rank 2] ".
  explicit ShownLines(const std::string& origin) : prefix_("[" + origin + "] ") {}

  /// Puts whole lines onto the end of `display`.
  void show(std::string_view lines, std::string& display);
  /// The last lines, each indented by two blanks and ended by a newline; empty if there are none.
  std::string lastLines() const;

 private:
  const std::string prefix_;
  std::deque<std::string> last_;
};

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

  /// As of ShownLines.
  std::string lastLines() const { return shown_.lastLines(); }
  const LogFile& log() const { return log_; }

 private:
  void takeLines(std::string_view lines, std::string& display);

  ShownLines shown_;
  LogFile log_;
  std::string partial_;  // the line that has not ended yet
};

/// A warning that a log lacks something, with the reason; empty: it has all.
std::string whatIsMissing(const LogFile& log);

}  // namespace pipetrace
