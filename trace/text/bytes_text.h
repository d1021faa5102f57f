#pragma once

#include <cstdint>
#include <string>

#include "trace/text/fixed_text.h"

namespace pipetrace {

/// Bytes for people to read, such as "1.25 GB"; a GB is 10^9 bytes.
inline std::string bytesText(std::int64_t bytes) {
  struct Unit {
    double size;
    const char* name;
  };
  constexpr Unit kUnits[] = {{1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}};
  for (const Unit& unit : kUnits) {
    if (static_cast<double>(bytes) < unit.size) continue;
    return fixedText(static_cast<double>(bytes) / unit.size, 2) + " " + unit.name;
  }
  return std::to_string(bytes) + " B";
}

}  // namespace pipetrace
