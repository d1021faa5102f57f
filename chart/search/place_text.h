#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "trace/nanoseconds.h"

namespace pipetrace {

/// A place in a run, as someone types it.
struct TypedPlace {
  enum class Kind : std::uint8_t { kTime, kMove, kStep };

  Kind kind = Kind::kTime;
  Nanoseconds time = 0;   ///< kTime: after the start of the run; kMove: from where the view is
  std::int64_t step = 0;  ///< kStep: its number in the log
};

/// Reads "12.5 ms", "+3 ms", "-1 s", "step 7" and "7" (a step); nothing for other texts.
std::optional<TypedPlace> placeOf(std::string_view text);

}  // namespace pipetrace
