#pragma once

#include "trace/nanoseconds.h"

namespace pipetrace {

/// A half-open interval: [begin, end).
struct Interval {
  Nanoseconds begin = 0;
  Nanoseconds end = 0;

  Nanoseconds length() const { return end - begin; }
  bool operator==(const Interval&) const = default;
};

}  // namespace pipetrace
