#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "chart/time_axis.h"

namespace pipetrace {

/// A mark on the time axis. `label` is centred on `x`; empty where it would stick out.
struct Tick {
  Nanoseconds time = 0;
  int x = 0;
  std::string label;
};

/// Returns the width of a text in pixels.
using TextWidth = std::function<int(std::string_view)>;

/// A time as text, such as "12.345 ms"; "0" for 0. The unit is the largest of ns, us, ms and s that
/// is not longer than `largest`. There are as many decimals as `resolution` needs.
std::string timeLabel(Nanoseconds value, Nanoseconds largest, Nanoseconds resolution);

/// Marks at a round distance: 1, 2 or 5 times a power of ten ns. It is the smallest that is at
/// least 70 pixels and keeps labels at least `gap` pixels apart. Labels count from `origin`. They
/// all have the unit (ns, us, ms, s) of the largest one, and as many decimals as the distance
/// needs.
std::vector<Tick> timeTicks(const TimeAxis& axis, Nanoseconds origin, const TextWidth& textWidth,
                            int gap);

}  // namespace pipetrace
