#pragma once

#include "parser/trace_reader.h"

namespace pipetrace {

/// Reads Perfetto's protobuf traces: the tracks, slices and counters of TrackEvents. Profiles of
/// ours become their timelines again. Those of other programs are read generically: processes and
/// top-level tracks become ranks, threads and tracks lanes. Events that are no slices or counters
/// are counted and left out.
class PerfettoReader : public TraceReader {
 public:
  std::string_view formatName() const override { return "Perfetto trace"; }
  FormatMatch probe(std::string_view head) const override;
  ReadOutcome read(ByteSource& source, const ReadRequest& request, Timeline& timeline,
                   Diagnostics& diagnostics) const override;
};

}  // namespace pipetrace
