#pragma once

#include <cstdio>
#include <string>

namespace pipetrace {

/// A factor for people to read, with two decimals: "1.30".
inline std::string factorText(double factor) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", factor);
  return text;
}

}  // namespace pipetrace
