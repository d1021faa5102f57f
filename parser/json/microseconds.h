#pragma once

#include <optional>
#include <string_view>

#include "trace/nanoseconds.h"

namespace pipetrace {

/// Reads a JSON number of microseconds as nanoseconds, digit by digit; exponents are allowed, and
/// what is below a nanosecond is cut off. Nothing for what is no number or does not fit.
std::optional<Nanoseconds> parseMicroseconds(std::string_view text);

}  // namespace pipetrace
