#pragma once

#include "trace/nanoseconds.h"

namespace pipetrace {

/// A stretch of time of a thread.
struct HostSpan {
  Nanoseconds begin = 0;
  Nanoseconds end = 0;

  bool holds(Nanoseconds time) const { return begin <= time && time <= end; }
  bool holds(const HostSpan& other) const { return begin <= other.begin && other.end <= end; }
};

}  // namespace pipetrace
