#pragma once

#include <cstdint>

namespace pipetrace {

/// Steps by their numbers in the log, both ends included.
struct StepChoice {
  std::int32_t first = 0;
  std::int32_t last = 0;
};

}  // namespace pipetrace
