#pragma once

#include <cstdint>
#include <vector>

#include "trace/timeline.h"

namespace pipetrace {

/// An arrow between two slices of a profile. Positions are those in Timeline::tracks and
/// Track::events.
struct MicroBatchArrow {
  struct Slice {
    std::uint32_t track = 0;
    std::uint32_t event = 0;
  };
  Slice from;
  Slice to;  ///< begins later than `from` begins
};

/// The arrows of a sorted timeline. The jobs and transfers of one micro-batch in one step and
/// replica are a chain in order of their begin: forward through the stages, then back. Each link
/// has an arrow to the next. Links are forward, fused, backward and input-gradient jobs, sends, and
/// the receives that begin after the send to them. A receive that is posted earlier is no link
/// between its neighbours.
///
/// If two begin at the same instant, only the first is a link, because the viewers order the ends
/// of an arrow by time. O(n log n) in the number of events.
std::vector<MicroBatchArrow> findMicroBatchArrows(const Timeline& timeline);

}  // namespace pipetrace
