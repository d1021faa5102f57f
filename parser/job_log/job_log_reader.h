#pragma once

#include "parser/job_log/log_block_parser.h"
#include "parser/trace_reader.h"

namespace pipetrace {

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
