#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/timeline.h"

namespace pipetrace {

/// The time from which a profile counts: its first instant, or with `absoluteTime` the Unix epoch.
/// Throws Error as checkedSpan() does, and with `absoluteTime` for a run that begins before 1970.
Nanoseconds profileOrigin(const Timeline& timeline, bool absoluteTime, int threads = 1);

/// The metadata of a profile of ours: the `pipetrace` object in `otherData`.
struct ProfileMetadata {
  int format = 0;
  Nanoseconds origin = 0;  ///< since the Unix epoch; `ts` counts from it
  std::map<int, RankInfo> ranks;
  std::vector<CounterSeries> counters;  ///< with those samples only that are no finite number
};

/// Appends the object for `timeline`.
void appendProfileMetadata(std::string& out, const Timeline& timeline, Nanoseconds origin);

/// Reads it from the text of `otherData`. Nothing when that holds no such object, or none that can
/// be read; single fields that make no sense are left out.
std::optional<ProfileMetadata> readProfileMetadata(std::string_view otherData);

}  // namespace pipetrace
