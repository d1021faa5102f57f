#pragma once

#include <string>
#include <string_view>

#include "parser/job_log/lines/canonical_lines.h"
#include "parser/job_log/lines/log_events.h"
#include "parser/job_log/log_share.h"
#include "parser/line_blocks.h"

namespace pipetrace {

/// How lines are read.
enum class LogReading {
  kFast,      ///< by hand where possible
  kByPattern  ///< all as if none were canonical: to compare with
};

/// Reads blocks of lines of a job log, each by itself. Each thread has one of its own.
class LogBlockParser {
 public:
  explicit LogBlockParser(LogReading reading) : reading_(reading) {}

  /// What is in the block. Strings are those of strings(). Holds until the next call; the caller
  /// may empty it.
  LogShare& parse(const LineBlocks::Block& block);

  /// All strings of all blocks so far.
  const StringTable& strings() const { return strings_; }

 private:
  void beginStretch();
  void addLine(std::string_view text, std::int64_t number, bool terminated);
  void addOurs(const LogLine& line, std::int64_t number);
  LogStretch& stretch() { return share_.stretches[share_.used - 1]; }

  const LogReading reading_;
  StringTable strings_;
  CanonicalLines canonical_{strings_};
  LogEvents events_{strings_};
  LogShare share_;
  std::string repaired_;
};

}  // namespace pipetrace
