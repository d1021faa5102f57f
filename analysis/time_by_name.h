#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/timeline.h"

namespace pipetrace {

/// The time of the events of one name on one rank, such as an operator, a kernel or a job.
struct TimeByName {
  /// As displayName() has it, without numbers where events have no own name, and without that of a
  /// step ("ProfilerStep#").
  std::string name;
  int rank = 0;
  std::int64_t calls = 0;
  /// The part of the total in which nothing else ran inside it. Inside an operator are those on
  /// its thread that it holds; inside a job are all operators and kernels of its rank meanwhile.
  Nanoseconds own = 0;
  Nanoseconds total = 0;  ///< of one inside another of the same name, the outer one's
};

/// The events of a whole run by name and rank, those with the most own time first. Bubbles are left
/// out, and the annotations of jobs that have times of their own (the lane `host`). So is an event
/// that is alone on its lane and as long as the run: profilers write one. Linear in events, apart
/// from sorting. Uses that many threads, which makes no difference to the result.
std::vector<TimeByName> timesByName(const Timeline& timeline, int threads = 1);

}  // namespace pipetrace
