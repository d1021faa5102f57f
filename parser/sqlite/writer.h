#pragma once

#include "parser/profile/profile_summary.h"
#include "trace/files/output_file.h"
#include "trace/timeline.h"

namespace pipetrace {

/// Writes an SQLite database with the tables job, bubble, track, step, counter and meta
/// (docs/profile-format.md), for people who ask with SQL; SqliteReader gets the same timeline back.
/// Arrows are no part of it. `timeline` must be sorted. It is made in a temporary file (TMPDIR) and
/// copied to `out`, which the caller commits. Throws Error.
ProfileSummary writeSqlite(const Timeline& timeline, OutputFile& out);

}  // namespace pipetrace
