#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "trace/nanoseconds.h"

namespace pipetrace {

/// Reads a decimal number of `unit` (kNsPerMs for "1697793307213.760986") as whole nanoseconds.
/// Reads digit by digit, never through a floating-point number. Digits beyond the nanosecond are
/// cut off. Accepts an optional leading '-', digits, and an optional '.' with digits. Returns
/// nothing for anything else (empty, blanks, exponents, several dots) and for values outside int64.
std::optional<Nanoseconds> parseDecimalTime(std::string_view text, Nanoseconds unit);

/// The same as appendMilliseconds(), into memory with room for 28 characters. Returns the end.
char* printMilliseconds(char* to, Nanoseconds time);

/// Appends `time` in milliseconds with exactly six decimals: "1697793307213.760986". The inverse of
/// parseDecimalTime(…, kNsPerMs), to the digit.
void appendMilliseconds(std::string& out, Nanoseconds time);

/// A duration for people to read: "873 ns", "12.35 us", "4.567 ms", "1.308 s". Four significant
/// digits, rounded half up.
std::string formatDuration(Nanoseconds duration);

/// The same with two significant digits, and no decimals from 10 on: "873 ns", "12 us", "4.6 ms".
std::string shortDuration(Nanoseconds duration);

/// A share for people to read: "12.5 %". 0 of a whole of 0.
std::string percentText(Nanoseconds part, Nanoseconds whole);

}  // namespace pipetrace
