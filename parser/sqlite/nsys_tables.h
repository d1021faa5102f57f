#pragma once

#include <cstdint>
#include <string>

#include "parser/sqlite/database.h"
#include "parser/trace_reader.h"
#include "trace/diagnostic.h"
#include "trace/timeline.h"

namespace pipetrace {

/// Whether the database is what `nsys export --type sqlite` makes of a report of Nsight Systems.
bool isNsysExport(const SqliteDatabase& database);

/// Adds its NVTX ranges (one lane per thread) and its kernels, copies and memsets (one lane per
/// stream) to `timeline`. A process alone has the rank of the file
/// (ReadRequest::rankOfFile()); several become ranks from `nextRank` of the request on, in the
/// order of the process ids. Names give the kinds (ForeignNames). Times are since the Unix epoch
/// where the export says when the session began, else since that instant. Everything left out is
/// counted in `diagnostics` under the name `file`. Throws Error when a table cannot be read. Table
/// and column names are those of the "SQLite Export Schema Reference" in Nsight Systems' manual.
/// Returns whether the ranks are guessed (RecordedProcess::isRankGuessed).
bool readNsysExport(const SqliteDatabase& database, const std::string& file,
                    const ReadRequest& request, Timeline& timeline, Diagnostics& diagnostics);

}  // namespace pipetrace
