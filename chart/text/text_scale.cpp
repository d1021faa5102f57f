#include "chart/text/text_scale.h"

#include <algorithm>

#include "chart/time_ticks.h"

namespace pipetrace {
namespace {

constexpr std::size_t kTickGap = 2;  // blanks between a label and the next mark

struct Mark {
  int column = 0;
  std::string label;
};

/// The resolution of labels that are `distance` apart: 100 us for 2.5 ms. It is at least 1 % of the
/// distance, or odd units would fill the labels with digits.
Nanoseconds resolutionOf(Nanoseconds distance) {
  Nanoseconds power = 1;
  while (distance % (power * 10) == 0 || power < distance / 100) power *= 10;
  return power;
}

std::vector<Mark> marksEvery(const TextScale& scale, Nanoseconds distance) {
  std::vector<Mark> marks;
  const Nanoseconds end = scale.before + (scale.range.end - scale.range.begin);
  const Nanoseconds resolution = resolutionOf(distance);
  const Nanoseconds past = scale.before % distance;
  for (Nanoseconds time = past == 0 ? scale.before : scale.before - past + distance;;
       time += distance) {
    const int column = scale.columnAt(scale.range.begin + (time - scale.before));
    if (column < scale.columns) marks.push_back({column, timeLabel(time, end, resolution)});
    if (time > end - distance) return marks;
  }
}

bool leaveRoom(const std::vector<Mark>& marks) {
  for (std::size_t i = 0; i + 1 < marks.size(); ++i) {
    const auto room = static_cast<std::size_t>(marks[i + 1].column - marks[i].column);
    if (1 + marks[i].label.size() + kTickGap > room) return false;
  }
  return true;
}

}  // namespace

int TextScale::columnAt(Nanoseconds time) const {
  const Nanoseconds since = std::clamp(time, range.begin, range.end) - range.begin;
  if (unit > 0) return static_cast<int>(since / unit) * cell;
  const double share = static_cast<double>(since) / static_cast<double>(range.end - range.begin);
  return static_cast<int>(share * columns + 0.5);
}

double TextScale::columnDuration() const {
  return static_cast<double>(range.end - range.begin) / columns;
}

std::string axisText(const TextScale& scale) {
  const Nanoseconds length = scale.range.end - scale.range.begin;
  const Nanoseconds base = std::max<Nanoseconds>(scale.unit, 1);
  // No more marks than columns: a shorter distance cannot leave room.
  Nanoseconds power = base;
  while (power <= length / scale.columns / 10) power *= 10;
  std::vector<Mark> marks;
  bool done = false;
  while (!done && power <= kNsMax / 100) {
    for (const int mantissa : {1, 2, 5}) {
      marks = marksEvery(scale, mantissa * power);
      done = leaveRoom(marks);
      if (done) break;
    }
    power *= 10;
  }
  std::string text;
  for (const Mark& mark : marks) {
    const auto column = static_cast<std::size_t>(mark.column);
    const bool fits = mark.column + 1 + static_cast<int>(mark.label.size()) <= scale.columns;
    if (column < text.size()) continue;
    text.append(column - text.size(), ' ');
    text += "|" + (fits ? mark.label : "");
  }
  return text;
}

}  // namespace pipetrace
