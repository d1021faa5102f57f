#pragma once

#include <re2/re2.h>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "parser/trace_reader.h"
#include "trace/nanoseconds.h"

namespace pipetrace {

/// The meaning of a named group of --pattern.
enum class LineField : std::uint8_t {
  kType,
  kName,
  kStart,
  kEnd,
  kDuration,
  kMicroBatch,
  kStep,
  kStage,
  kChunk,
  kPart,
  kId,
  kRank,
  kPeer,
  kStream,
  kArgument,  ///< any other name
};

/// The regular expression of --pattern, which says how a line of any program describes a job. Any
/// number of threads may use one at once.
class LinePattern {
 public:
  struct Group {
    LineField field = LineField::kArgument;
    std::string name;
    int index = 0;  ///< of its text in the result of match()
  };

  /// `unit`: the unit of times in the lines, in nanoseconds. Throws Error for a text that is no
  /// regular expression (RE2), and for one without the groups that a job needs: `type` or `name`,
  /// `start`, and `end` or `duration`.
  LinePattern(const std::string& pattern, Nanoseconds unit);

  Nanoseconds unit() const { return unit_; }

  /// The named groups; each field once.
  const std::vector<Group>& groups() const { return groups_; }

  /// Searches a line of UTF-8 for the expression. `texts` gets what the groups matched; it is empty
  /// for groups that took no part. The line has to outlive it.
  bool match(std::string_view line, std::vector<re2::StringPiece>& texts) const;

 private:
  bool has(LineField field) const;

  re2::RE2 pattern_;
  Nanoseconds unit_;
  std::vector<Group> groups_;
};

/// Reads the log of any program. --pattern says how a line describes a job: a line that matches is
/// one, all others are passed over. It is for all inputs or none, so it is not among
/// makeTraceReaders().
///
/// The rank is that of the group `rank`, else of the file's name (workerlog.<rank>, or see
/// ReadRequest::nameRank), else the next free one. The kind is the one that JobNames knows for
/// `type`, else for `name`. A job whose stream is not named is on the lane of its kind, as in a job
/// log.
class PatternLogReader final : public TraceReader {
 public:
  /// `pattern` must outlive it.
  explicit PatternLogReader(const LinePattern& pattern) : pattern_(pattern) {}

  std::string_view formatName() const override { return "log read by --pattern"; }
  FormatMatch probe(std::string_view) const override { return FormatMatch::kPossible; }
  ReadOutcome read(ByteSource& source, const ReadRequest& request, Timeline& timeline,
                   Diagnostics& diagnostics) const override;

 private:
  const LinePattern& pattern_;
};

}  // namespace pipetrace
