#pragma once

#include <string_view>

#include "parser/profile/profile_summary.h"
#include "trace/files/output_file.h"
#include "trace/timeline.h"

namespace pipetrace {

/// The first line.
inline constexpr std::string_view kCsvHeader =
    "rank,lane,kind,name,begin_ns,end_ns,duration_ns,step,micro_batch,stage,chunk,part,number,job,"
    "peer,class,arguments,phase\n";

/// Writes one line per event (RFC 4180, with a header, "\n" between lines), in the order of rank,
/// lane and begin, for spreadsheets and data frames. Times are integers of nanoseconds since the
/// Unix epoch. Fields that an event lacks are empty; arguments are one JSON object. Counters and
/// arrows are not written, and the file is not read back. `timeline` must be sorted. The caller
/// commits `out`.
ProfileSummary writeCsv(const Timeline& timeline, OutputFile& out);

}  // namespace pipetrace
