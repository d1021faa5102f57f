#pragma once

#include <cstdint>
#include <limits>
#include <string_view>

namespace pipetrace {

/// Steps from `first` up to, and without, `end`, as PaddlePaddle counts them: {3, 6} are the steps
/// 3, 4 and 5; {5, 3} is none.
struct StepRange {
  std::int32_t first = std::numeric_limits<std::int32_t>::min();
  std::int32_t end = std::numeric_limits<std::int32_t>::max();

  bool contains(std::int32_t step) const noexcept { return first <= step && step < end; }
  bool operator==(const StepRange&) const = default;
};

/// "3:6"; "3:" and ":6" have one end only, "3" is one step. Throws Error for anything else.
StepRange parseStepRange(std::string_view text);

}  // namespace pipetrace
