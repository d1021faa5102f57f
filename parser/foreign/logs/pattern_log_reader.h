#pragma once

#include "parser/foreign/logs/line_pattern.h"
#include "parser/trace_reader.h"

namespace pipetrace {

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
