#pragma once

#include <cstdint>
#include <vector>

#include "trace/timeline.h"

namespace pipetrace {

/// The begin or the end of a slice on one track of a trace.
struct SliceEdge {
  Nanoseconds time = 0;
  std::uint32_t index = 0;  ///< the caller's number for it
  bool isBegin = false;
};

/// Sorts edges by time; those of equal times stay in their order.
void sortByTime(std::vector<SliceEdge>& edges);

/// Matches the begins and ends of one track, whose slices nest: each end closes the innermost slice
/// that is open.
///
///     begin a   begin b   end   begin c   end   end     slices b, c, a
///
/// Sorts `edges` by time. Then calls `onSlice(begin, end)` for each pair, in the order of the ends,
/// and `onLoneEnd(end)` for an end that no open slice precedes. Returns the begins without an end,
/// outermost first.
template <typename OnSlice, typename OnLoneEnd>
std::vector<SliceEdge> matchSlices(std::vector<SliceEdge>& edges, const OnSlice& onSlice,
                                   const OnLoneEnd& onLoneEnd) {
  sortByTime(edges);
  std::vector<SliceEdge> open;
  for (const SliceEdge& edge : edges) {
    if (edge.isBegin) {
      open.push_back(edge);
    } else if (open.empty()) {
      onLoneEnd(edge);
    } else {
      onSlice(open.back(), edge);
      open.pop_back();
    }
  }
  return open;
}

/// Ends a slice at `time`, but not before its begin. `end` has the fields of the end, or is null.
/// They fill the fields that the begin left out, and its arguments follow those of the begin.
void endSlice(Event& slice, Nanoseconds time, const Event* end, Timeline& timeline);

}  // namespace pipetrace
