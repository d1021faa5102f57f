#pragma once

#include <string_view>

#include "trace/timeline.h"

namespace pipetrace {

/// Builds small timelines for tests, in small whole numbers of nanoseconds. Steps, stages and
/// chunks are left out unless given.
class HandMadeTimeline {
 public:
  Timeline timeline;

  Event& add(int rank, JobKind kind, Nanoseconds begin, Nanoseconds end, std::int32_t step = -1,
             std::int32_t microBatch = 0, std::string_view lane = kComputeLane) {
    Event event;
    event.kind = kind;
    event.begin = begin;
    event.end = end;
    event.step = step;
    event.microBatch = microBatch;
    return timeline.track(rank, lane).events.emplace_back(event);
  }
};

}  // namespace pipetrace
