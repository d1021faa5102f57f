#pragma once

#include <cstdint>
#include <string_view>

#include "trace/event.h"

namespace pipetrace {

/// The text after `type = `, taken apart: the kind, and the numbers that PaddlePaddle's programs
/// add to it.
struct JobType {
  JobKind kind = JobKind::kOther;
  std::int16_t chunk = kNotGiven;  ///< `forward0`, `backward_b1`
  std::int16_t part = kNotGiven;   ///< `forward(chunk0)`: a sub-job
};

/// kOther, with nothing else, for a text that names no kind that a log may hold.
JobType parseJobType(std::string_view text);

}  // namespace pipetrace
