#pragma once

#include <algorithm>
#include <cassert>
#include <span>

#include "trace/timeline.h"

namespace pipetrace {

/// The tracks of a rank, by lane, of a timeline that is sorted (Timeline::sort()).
inline std::span<const Track> tracksOf(const Timeline& timeline, int rank) {
  assert(std::is_sorted(timeline.tracks.begin(), timeline.tracks.end(),
                        [](const Track& a, const Track& b) { return a.rank < b.rank; }));
  const auto begin = std::partition_point(timeline.tracks.begin(), timeline.tracks.end(),
                                          [&](const Track& track) { return track.rank < rank; });
  const auto end = std::partition_point(begin, timeline.tracks.end(),
                                        [&](const Track& track) { return track.rank == rank; });
  return {begin, end};
}

}  // namespace pipetrace
