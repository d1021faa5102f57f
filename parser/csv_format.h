#pragma once

#include <string_view>

namespace pipetrace {

/// The first line of a profile as CSV.
inline constexpr std::string_view kCsvHeader =
    "rank,lane,kind,name,begin_ns,end_ns,duration_ns,step,micro_batch,stage,chunk,part,number,job,"
    "peer,class,arguments,phase\n";

}  // namespace pipetrace
