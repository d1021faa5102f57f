#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/timeline.h"

namespace pipetrace {

/// What a profile of ours says besides its events: the `pipetrace` object in `otherData`.
struct ProfileMetadata {
  int format = 0;
  Nanoseconds origin = 0;  ///< since the Unix epoch; what `ts` counts from
  std::map<int, RankInfo> ranks;
  std::vector<CounterSeries> counters;  ///< their samples: only those that are no finite number
};

/// Appends the object for `timeline`.
void appendProfileMetadata(std::string& out, const Timeline& timeline, Nanoseconds origin);

/// Reads it from the text of `otherData`. Nothing when there is no such object in it, or none that
/// can be read; single fields that make no sense are left out.
std::optional<ProfileMetadata> readProfileMetadata(std::string_view otherData);

}  // namespace pipetrace
