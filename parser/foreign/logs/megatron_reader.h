#pragma once

#include <string_view>

#include "parser/trace_reader.h"
#include "trace/timeline.h"

namespace pipetrace {

/// Reads the files that MegatronApp's tracer writes on each rank: an array of `B` and `E` objects
/// with `rel_ts`, nanoseconds since the start of their iteration. The rank is that of the file's
/// name (ReadRequest::nameRank), else the next free one. A name of the tracer's own
/// (megatronAppPlace()) gives the data-parallel and tensor-parallel indices as well.
///
/// An iteration begins `pad_before` after the end of the one before it, which took `duration_wall`;
/// it becomes an event of the lane "iterations". The stage of a job is its position in the pipeline
/// until lineUpMegatronRanks() has seen all ranks.
class MegatronReader final : public TraceReader {
 public:
  std::string_view formatName() const override { return "MegatronApp"; }
  FormatMatch probe(std::string_view head) const override;
  ReadOutcome read(ByteSource& source, const ReadRequest& request, Timeline& timeline,
                   Diagnostics& diagnostics) const override;
};

/// Aligns the ranks of a MegatronApp run after all their files have been read, as MegatronApp's own
/// script does. An iteration begins on all ranks at once: the longest `pad_before` after the one
/// before it, which took the longest `duration_wall`. Positions in the pipeline become virtual
/// stages. Ranks that MegatronReader has not read stay as they are. Files do not say how many ranks
/// a pipeline has: where some are missing, `diagnostics` gets what that means for the last one.
void lineUpMegatronRanks(Timeline& timeline, Diagnostics& diagnostics);

}  // namespace pipetrace
