#include "chart/text/idle_marks.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace pipetrace {
namespace {

using Times = std::array<double, kBubbleClassCount>;

/// Adds the time of the bubble to each slot that it reaches into.
void add(std::vector<Times>& slots, const Event& bubble, const TextScale& scale, double slot) {
  const Nanoseconds begin = std::max(bubble.begin, scale.range.begin);
  const Nanoseconds end = std::min(bubble.end, scale.range.end);
  if (begin >= end) return;
  const auto from = static_cast<double>(begin - scale.range.begin);
  const auto to = static_cast<double>(end - scale.range.begin);
  const auto first = static_cast<std::size_t>(from / slot);
  for (std::size_t i = first; i < slots.size(); ++i) {
    const double left = std::max(from, static_cast<double>(i) * slot);
    const double right = std::min(to, static_cast<double>(i + 1) * slot);
    if (right <= left && i > first) return;
    slots[i][static_cast<std::size_t>(bubble.bubbleClass)] += std::max(right - left, 0.0);
  }
}

BubbleClass mostOf(const Times& times) {
  const auto most = std::max_element(times.begin(), times.end());
  return *most > 0 ? static_cast<BubbleClass>(most - times.begin()) : BubbleClass::kNone;
}

}  // namespace

IdleMarks::IdleMarks(const Track* bubbles, const TextScale& scale)
    : cell_(scale.unit > 0 ? scale.cell : 1) {
  if (bubbles == nullptr) return;
  const double slot = scale.unit > 0 ? static_cast<double>(scale.unit) : scale.columnDuration();
  std::vector<Times> times(static_cast<std::size_t>((scale.columns + cell_ - 1) / cell_), Times{});
  for (const Event& bubble : bubbles->events) add(times, bubble, scale, slot);
  classes_.reserve(times.size());
  for (const Times& slotTimes : times) classes_.push_back(mostOf(slotTimes));
}

BubbleClass IdleMarks::classAt(int column) const {
  if (classes_.empty()) return BubbleClass::kNone;
  return classes_[static_cast<std::size_t>(column / cell_)];
}

char IdleMarks::markAt(int column) const {
  const BubbleClass found = classAt(column);
  return found == BubbleClass::kNone && !classes_.empty() ? ' ' : rowOf(found).mark;
}

}  // namespace pipetrace
