#pragma once

#include <cstdint>

#include "trace/event.h"
#include "trace/track.h"

namespace pipetrace {

/// The contents of a profile in numbers, as the front ends and `pipe-trace info` show them.
struct ProfileSummary {
  std::int64_t jobs = 0;       ///< slices of the compute lanes
  std::int64_t transfers = 0;  ///< sends, receives, collectives and copies on other lanes
  std::int64_t others = 0;     ///< other events on other lanes: kernels, and events without a kind
  std::int64_t bubbles = 0;
  std::int64_t arrows = 0;    ///< as Perfetto counts them: rows of its table `flow`
  std::int64_t counters = 0;  ///< samples

  void add(const Track& track, const Event& event) {
    if (event.kind == JobKind::kBubble) {
      ++bubbles;
    } else if (track.lane == kComputeLane) {
      ++jobs;
    } else if (isTransfer(event.kind) || isCollective(event.kind) || event.kind == JobKind::kCopy) {
      ++transfers;
    } else {
      ++others;
    }
  }
  void add(const ProfileSummary& other) {
    jobs += other.jobs;
    transfers += other.transfers;
    others += other.others;
    bubbles += other.bubbles;
    arrows += other.arrows;
    counters += other.counters;
  }
};

}  // namespace pipetrace
