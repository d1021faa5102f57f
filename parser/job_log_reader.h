#pragma once

#include "parser/trace_reader.h"

namespace pipetrace {

/// Reads the job log of one rank (docs/log-format.md), PaddlePaddle's included, with ordinary
/// program output between its lines. Of several runs in a file one is read.
class JobLogReader final : public TraceReader {
 public:
  std::string_view formatName() const override { return "job log"; }

  /// Certain when a line of ours is among the first bytes; otherwise any text might be a log, as a
  /// program may print much before its first job.
  FormatMatch probe(std::string_view head) const override;

  ReadOutcome read(ByteSource& source, const ReadRequest& request, Timeline& timeline,
                   Diagnostics& diagnostics) const override;
};

}  // namespace pipetrace
