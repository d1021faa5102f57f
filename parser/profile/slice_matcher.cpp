#include "parser/profile/slice_matcher.h"

#include <algorithm>

namespace pipetrace {

void sortByTime(std::vector<SliceEdge>& edges) {
  const auto earlier = [](const SliceEdge& a, const SliceEdge& b) { return a.time < b.time; };
  if (std::is_sorted(edges.begin(), edges.end(), earlier)) return;
  std::stable_sort(edges.begin(), edges.end(), earlier);
}

void endSlice(Event& slice, Nanoseconds time, const Event* end, Timeline& timeline) {
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
