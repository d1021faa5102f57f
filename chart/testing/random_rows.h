#pragma once

#include <random>

#include "trace/timeline.h"

namespace pipetrace {

/// Made-up lanes of four ranks for tests of sums: jobs of several kinds and stages, some of which
/// overlap, some without a length, and classified bubbles. More events than a block of an index
/// has. Sorted.
inline Timeline makeRandomRows(unsigned seed, int eventsPerLane = 1500) {
  std::mt19937 random(seed);
  const auto below = [&](int limit) {
    return std::uniform_int_distribution<int>(0, limit - 1)(random);
  };
  Timeline timeline;
  for (int rank = 0; rank < 4; ++rank) {
    for (const std::string_view lane : {kComputeLane, kBubbleLane, kSendLane}) {
      Nanoseconds begin = below(50);
      for (int i = 0; i < eventsPerLane; ++i) {
        Event event{.begin = begin, .end = begin + below(3) * below(1 + below(1000))};
        event.stage = lane == kSendLane ? kNotGiven : rank + 4 * below(2);
        event.kind = lane == kBubbleLane    ? JobKind::kBubble
                     : lane == kComputeLane ? static_cast<JobKind>(below(kJobKindCount - 2) % 9)
                                            : JobKind::kSendForward;
        if (lane == kBubbleLane) event.bubbleClass = static_cast<BubbleClass>(1 + below(9));
        timeline.track(rank, lane).events.push_back(event);
        begin += below(300);
      }
    }
  }
  timeline.sort();
  return timeline;
}

}  // namespace pipetrace
