#pragma once

#include "parser/job_log/lines/rank_part.h"
#include "parser/ring/log_rings.h"
#include "parser/trace_reader.h"

namespace pipetrace {

/// Adds to the part of a rank's log the contents of the ring file that its Meta line names
/// (`part.ringFile`), as `rings` have it, which are not in the log. These are the jobs and samples
/// that had been recorded, and not written, when the program was killed, or by now. Says so in
/// `diagnostics`, and in `part.missingEnd`. Does nothing when the run was closed, or there is no
/// such file. Strings are interned in `strings`.
void addLeftOverRing(RankPart& part, int rank, const std::string& logPath, const LogRings& rings,
                     StringTable& strings, Diagnostics& diagnostics);

/// Reads a ring file without its log.
class RingFileReader final : public TraceReader {
 public:
  std::string_view formatName() const override { return "ring file"; }
  RecordKind record() const override { return RecordKind::kRing; }
  FormatMatch probe(std::string_view head) const override;
  ReadOutcome read(ByteSource& source, const ReadRequest& request, Timeline& timeline,
                   Diagnostics& diagnostics) const override;
};

}  // namespace pipetrace
