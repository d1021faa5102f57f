#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "parser/job_log/lines/canonical_lines.h"
#include "parser/job_log/lines/log_events.h"
#include "parser/job_log/lines/log_line.h"
#include "parser/job_log/lines/rank_part.h"
#include "parser/line_blocks.h"
#include "parser/trace_reader.h"

namespace pipetrace {

/// Consecutive lines of one log that belong to one run, read before it is known to which. Line
/// numbers count from the start of their block, from 1.
struct LogSection {
  /// A Meta, Clock or End line, which is read when its run is known.
  struct About {
    LogLineKind kind = LogLineKind::kOrdinary;
    std::string payload;
    std::int64_t line = 0;
  };

  std::vector<About> about;  ///< in their order; a Meta line only as the first
  RankPart events;           ///< events, arguments, samples and the findings about them
  LogFindings ofLines;       ///< about lines that could not be looked into
  std::int64_t jobLines = 0;

  /// Empties it; the memory is kept.
  void clear();
};

/// The contents of one block of a log. A Meta line starts a new section.
struct ParsedLogBlock {
  std::vector<LogSection> sections;  ///< the first `used` of them, at least one; others are empty
  std::size_t used = 0;
  std::int64_t lines = 0;
};

/// The ways to read lines.
enum class LogReading {
  kFast,      ///< by hand where possible
  kByPattern  ///< all as if none were canonical: to compare with
};

/// Parses blocks of lines of a job log, each by itself. Each thread has its own parser.
class LogBlockParser {
 public:
  explicit LogBlockParser(LogReading reading) : reading_(reading) {}

  /// Parses a block. Strings are those of strings(). The result holds until the next call; the
  /// caller may change it.
  ParsedLogBlock& parse(const LineBlocks::Block& block);

  /// All strings of all blocks so far.
  const StringTable& strings() const { return strings_; }

 private:
  void beginSection();
  void addLine(std::string_view text, std::int64_t number, bool terminated);
  void addOurs(const LogLine& line, std::int64_t number);
  LogSection& section() { return parsed_.sections[parsed_.used - 1]; }

  const LogReading reading_;
  StringTable strings_;
  CanonicalLines canonical_{strings_};
  LogEvents events_{strings_};
  ParsedLogBlock parsed_;
  std::string repaired_;
};

/// Reads a job log (docs/log-format.md), PaddlePaddle's included, with ordinary program output
/// between its lines. Only one of several runs of a rank is read. A log holds one rank. If the
/// request gives no rank, it may hold several ranks, one after the other.
///
/// Several threads read a large log. Each takes the next block, reads it by itself, and adds the
/// result after those of all blocks before it:
///
///     LineBlocks::next()         block 0     block 1     block 2   …
///                                   |           |           |
///     LogBlockParser::parse()    parsed 0    parsed 1    parsed 2  …   at once, in any order
///                                   |           |           |
///     RankParts::add()              +---------->+---------->+--> …     in this order (Turns)
class JobLogReader final : public TraceReader {
 public:
  explicit JobLogReader(LogReading reading = LogReading::kFast) : reading_(reading) {}

  std::string_view formatName() const override { return "job log"; }
  RecordKind record() const override { return RecordKind::kJobLog; }

  /// Certain when a line of ours is among the first bytes. Otherwise any text might be a log, as a
  /// program may print much before its first job.
  FormatMatch probe(std::string_view head) const override;

  ReadOutcome read(ByteSource& source, const ReadRequest& request, Timeline& timeline,
                   Diagnostics& diagnostics) const override;

 private:
  LogReading reading_;
};

}  // namespace pipetrace
