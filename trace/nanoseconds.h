#pragma once

#include <cstdint>
#include <limits>

namespace pipetrace {

/// A point in time (ns since the Unix epoch, or since a clock's own origin where a name says so) or
/// a length of time. Always an integer: a `double` of epoch milliseconds steps by 244 ns.
using Nanoseconds = std::int64_t;

inline constexpr Nanoseconds kNsPerUs = 1'000;
inline constexpr Nanoseconds kNsPerMs = 1'000'000;
inline constexpr Nanoseconds kNsPerSecond = 1'000'000'000;

inline constexpr Nanoseconds kNsMax = std::numeric_limits<Nanoseconds>::max();
inline constexpr Nanoseconds kNsMin = std::numeric_limits<Nanoseconds>::min();

}  // namespace pipetrace
