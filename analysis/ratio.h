#pragma once

#include "trace/nanoseconds.h"

namespace pipetrace {

/// A part of a whole; 0 of a whole of 0.
inline double ratio(double part, double whole) { return whole > 0 ? part / whole : 0.0; }

inline double ratio(Nanoseconds part, Nanoseconds whole) {
  return ratio(static_cast<double>(part), static_cast<double>(whole));
}

}  // namespace pipetrace
