#pragma once

#include <chrono>

#include "trace/nanoseconds.h"

namespace pipetrace {

/// Nanoseconds of a clock that nobody sets.
inline Nanoseconds steadyTime() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// A thread that sleeps longer than it meant to, by this, was stopped with its process, or its host
/// was.
inline constexpr Nanoseconds kLongPause = kNsPerSecond;

}  // namespace pipetrace
