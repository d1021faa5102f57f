#pragma once

#include "parser/trace_reader.h"

namespace pipetrace {

/// Reads SQLite databases, held in memory. Profiles that writeSqlite() wrote become their timelines
/// again. Exports of Nsight Systems (`nsys export --type sqlite`) give NVTX ranges, kernels, copies
/// and memsets.
class SqliteReader : public TraceReader {
 public:
  std::string_view formatName() const override { return "SQLite database"; }
  FormatMatch probe(std::string_view head) const override;
  ReadOutcome read(ByteSource& source, const ReadRequest& request, Timeline& timeline,
                   Diagnostics& diagnostics) const override;
};

}  // namespace pipetrace
