#pragma once

#include "trace/event.h"

namespace pipetrace {

/// What the name of an event says of it.
struct JobName {
  JobKind kind = JobKind::kOther;
  std::int32_t step = kNotGiven;
  std::int32_t microBatch = kNotGiven;
  std::int32_t stage = kNotGiven;
  std::int16_t chunk = kNotGiven;
  std::int16_t part = kNotGiven;
  bool isAsked = false;  ///< the user's --kinds said so

  bool operator==(const JobName&) const = default;
};

}  // namespace pipetrace
