#pragma once

#include <algorithm>
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
inline void sortByTime(std::vector<SliceEdge>& edges) {
  const auto earlier = [](const SliceEdge& a, const SliceEdge& b) { return a.time < b.time; };
  if (std::is_sorted(edges.begin(), edges.end(), earlier)) return;
  std::stable_sort(edges.begin(), edges.end(), earlier);
}

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
inline void endSlice(Event& slice, Nanoseconds time, const Event* end, Timeline& timeline) {
  slice.end = std::max(time, slice.begin);
  if (end == nullptr) return;
  if (slice.microBatch == kNotGiven) slice.microBatch = end->microBatch;
  if (slice.step == kNotGiven) slice.step = end->step;
  if (slice.stage == kNotGiven) slice.stage = end->stage;
  if (slice.job == kNotGiven) slice.job = end->job;
  if (end->argumentCount == 0) return;
  const auto ofBegin = timeline.argumentsOf(slice);
  std::vector<Argument> both(ofBegin.begin(), ofBegin.end());
  const auto ofEnd = timeline.argumentsOf(*end);
  both.insert(both.end(), ofEnd.begin(), ofEnd.end());
  timeline.setArguments(slice, both);
}

}  // namespace pipetrace
