#pragma once

#include "parser/profile/profile_summary.h"
#include "trace/files/output_file.h"
#include "trace/timeline.h"

namespace pipetrace {

/// Writes an SQLite database with the tables job, bubble, track, step, counter and meta
/// (docs/profile-format.md), for queries in SQL; SqliteReader gets the same timeline back. Arrows
/// are not written. `timeline` must be sorted. The database is made in a temporary file (TMPDIR)
/// and copied to `out`, which the caller commits. Throws Error.
ProfileSummary writeSqlite(const Timeline& timeline, OutputFile& out);

}  // namespace pipetrace
