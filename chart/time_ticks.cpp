#include "chart/time_ticks.h"

#include <algorithm>
#include <array>
#include <limits>

namespace pipetrace {
namespace {

constexpr int kMinDistance = 70;  // pixels

struct Unit {
  Nanoseconds ns;
  int digits;  // ns is 10 to the power of this
  const char* name;
};
constexpr std::array<Unit, 4> kUnits = {
    {{kNsPerSecond, 9, " s"}, {kNsPerMs, 6, " ms"}, {kNsPerUs, 3, " us"}, {1, 0, " ns"}}};

/// A distance between ticks: mantissa (1, 2, 5) times a power of ten.
struct Distance {
  Nanoseconds ns = 1;
  int mantissa = 1;

  /// Goes to the next larger distance. False if that would be outside int64.
  bool grow() {
    const bool fromTwo = mantissa == 2;
    if (ns > kNsMax / 3) return false;
    ns = fromTwo ? ns / 2 * 5 : ns * 2;
    mantissa = mantissa == 1 ? 2 : fromTwo ? 5 : 1;
    return true;
  }
};

const Unit& unitOf(Nanoseconds largest) {
  for (const Unit& unit : kUnits) {
    if (largest >= unit.ns) return unit;
  }
  return kUnits.back();
}

std::vector<Tick> ticksAt(const TimeAxis& axis, Nanoseconds origin, const Distance& distance) {
  const Nanoseconds from = axis.begin() - origin;
  const Nanoseconds to = axis.end() - origin;
  const Nanoseconds largest = std::max(from < 0 ? -from : from, to < 0 ? -to : to);
  Nanoseconds value = from / distance.ns * distance.ns;
  while (value < from) value += distance.ns;
  std::vector<Tick> ticks;
  for (; value < to; value += distance.ns) {
    ticks.push_back(
        {origin + value, axis.xOf(origin + value), timeLabel(value, largest, distance.ns)});
  }
  return ticks;
}

bool labelsFit(const std::vector<Tick>& ticks, const TextWidth& textWidth, int gap) {
  int freeFrom = std::numeric_limits<int>::min();
  for (const Tick& tick : ticks) {
    const int width = textWidth(tick.label);
    if (tick.x - width / 2 < freeFrom) return false;
    freeFrom = tick.x - width / 2 + width + gap;
  }
  return true;
}

}  // namespace

std::string timeLabel(Nanoseconds value, Nanoseconds largest, Nanoseconds resolution) {
  if (value == 0) return "0";
  const Unit& unit = unitOf(largest);
  int decimals = unit.digits;
  for (; resolution >= 10 && decimals > 0; resolution /= 10) --decimals;
  const Nanoseconds magnitude = value < 0 ? -value : value;
  std::string text = value < 0 ? "-" : "";
  text += std::to_string(magnitude / unit.ns);
  if (decimals > 0) {
    std::string fraction = std::to_string(magnitude % unit.ns);
    fraction.insert(0, static_cast<std::size_t>(unit.digits) - fraction.size(), '0');
    text += "." + fraction.substr(0, static_cast<std::size_t>(decimals));
  }
  return text + unit.name;
}

std::vector<Tick> timeTicks(const TimeAxis& axis, Nanoseconds origin, const TextWidth& textWidth,
                            int gap) {
  const Nanoseconds smallest = axis.durationOf(std::min(kMinDistance, axis.width()));
  Distance distance;
  while (distance.ns < smallest && distance.grow()) {
  }
  std::vector<Tick> ticks = ticksAt(axis, origin, distance);
  while (!labelsFit(ticks, textWidth, gap) && distance.grow()) {
    ticks = ticksAt(axis, origin, distance);
  }
  for (Tick& tick : ticks) {
    const int width = textWidth(tick.label);
    const int left = tick.x - width / 2;
    if (left < 0 || left + width > axis.width()) tick.label.clear();
  }
  return ticks;
}

}  // namespace pipetrace
