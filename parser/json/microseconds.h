#pragma once

#include <optional>
#include <string_view>

#include "trace/nanoseconds.h"

namespace pipetrace {

/// Reads a JSON number of microseconds as nanoseconds, digit by digit. Exponents are allowed, and
/// fractions of a nanosecond are cut off. Nothing for a text that is no number or does not fit.
std::optional<Nanoseconds> parseMicroseconds(std::string_view text);

}  // namespace pipetrace
