#pragma once

#include "parser/profile/profile_summary.h"
#include "trace/files/output_file.h"
#include "trace/timeline.h"

namespace pipetrace {

/// Writes one line per event (RFC 4180, with a header, "\n" between lines), in the order of rank,
/// lane and begin, for spreadsheets and data frames. Times are integers of nanoseconds since the
/// Unix epoch. Fields that an event lacks are empty; arguments are one JSON object. Counters and
/// arrows are not written, and the file is not read back. `timeline` must be sorted. The caller
/// commits `out`.
///
/// Names hold no control characters (fitToPrint()). `isSafe`: a name that a spreadsheet would take
/// for a formula, as it begins with `=`, `+`, `-`, `@` or a tab, gets an apostrophe in front.
/// Source: OWASP, "CSV Injection".
ProfileSummary writeCsv(const Timeline& timeline, OutputFile& out, bool isSafe = false);

}  // namespace pipetrace
