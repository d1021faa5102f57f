#pragma once

#include <string_view>

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
/// Names hold no control characters (fitToPrint()). `isSafe`: lanes and names are in quotes. Those
/// that a spreadsheet may take for a formula get an apostrophe in front: they begin with `=`, `+`,
/// `-`, `@` (also wide ones) or a tab, behind blanks too.
/// Source: OWASP, "CSV Injection".
ProfileSummary writeCsv(const Timeline& timeline, OutputFile& out, bool isSafe = false);

/// The first line of a profile as CSV.
inline constexpr std::string_view kCsvHeader =
    "rank,lane,kind,name,begin_ns,end_ns,duration_ns,step,micro_batch,stage,chunk,part,number,job,"
    "peer,class,arguments,phase\n";

}  // namespace pipetrace
