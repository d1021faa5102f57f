#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "parser/job_log/lines/canonical_lines.h"
#include "parser/job_log/lines/log_events.h"
#include "parser/job_log/lines/log_line_kind.h"
#include "parser/job_log/lines/log_run.h"
#include "parser/line_blocks.h"

namespace pipetrace {

/// Lines of one log that follow each other, belong to one run, and have been read without knowing
/// which. Line numbers count from the start of the block that they are in, from 1.
struct LogStretch {
  /// A Meta, Clock or End line, which is read when its run is known.
  struct About {
    LogLineKind kind = LogLineKind::kOrdinary;
    std::string payload;
    std::int64_t line = 0;
  };

  std::vector<About> about;  ///< in their order; a Meta line only as the first
  LogRun events;             ///< events, arguments, samples and the findings about them
  LogFindings ofLines;       ///< about lines that could not be looked into
  std::int64_t jobLines = 0;

  /// Empty again; the memory is kept.
  void clear();
};

/// The findings of one block of a log. A Meta line starts a new stretch.
struct LogShare {
  std::vector<LogStretch> stretches;  ///< the first `used` of them, at least one; others are empty
  std::size_t used = 0;
  std::int64_t lines = 0;
};

/// How lines are read.
enum class LogReading {
  kFast,      ///< by hand where possible
  kByPattern  ///< all as if none were canonical: to compare with
};

/// Reads blocks of lines of a job log, each by itself. Each thread has one of its own.
class LogBlockParser {
 public:
  explicit LogBlockParser(LogReading reading) : reading_(reading) {}

  /// The contents of the block. Strings are those of strings(). Holds until the next call; the
  /// caller may change it.
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
