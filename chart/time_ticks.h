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

/// How many pixels a text takes.
using TextWidth = std::function<int(std::string_view)>;

/// "12.345 ms": `value` in the largest unit (ns, us, ms, s) of which `largest` holds one, with the
/// decimals that tell times `resolution` apart. "0" for 0.
std::string timeLabel(Nanoseconds value, Nanoseconds largest, Nanoseconds resolution);

/// Marks at a round distance (1, 2 or 5 times a power of ten ns), the smallest that is no less
/// than 70 pixels and at which no two labels come closer than `gap` pixels. Labels count from
/// `origin`, all in the unit that the largest of them asks for (ns, us, ms, s), with as many
/// decimals as the distance needs.
std::vector<Tick> timeTicks(const TimeAxis& axis, Nanoseconds origin, const TextWidth& textWidth,
                            int gap);

}  // namespace pipetrace
