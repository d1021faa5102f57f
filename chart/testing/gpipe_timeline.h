#pragma once

#include "trace/timeline.h"

namespace pipetrace {

/// A run under GPipe for tests, computed by its closed form. Ranks go on to the next step as soon
/// as they can. Each rank's `lr` follows its optimizer. So the last rank's `lr` comes long before
/// the first forward of the step, which waits for rank 0. Compute lanes only, no bubbles. Sorted.
struct GpipeRun {
  static constexpr int kRanks = 8;
  static constexpr int kMicroBatches = 4;
  static constexpr Nanoseconds kForward = 10 * kNsPerMs;
  static constexpr Nanoseconds kBackward = 20 * kNsPerMs;
  static constexpr Nanoseconds kOptimizer = 2 * kNsPerMs;
  static constexpr Nanoseconds kLr = 1 * kNsPerMs;
  /// From the first forward to the last backward, both of rank 0: (m + p - 1)(F + B).
  static constexpr Nanoseconds kWork = (kMicroBatches + kRanks - 1) * (kForward + kBackward);
  static constexpr Nanoseconds kWindow = kWork + kOptimizer;

  /// The time at which rank 0 begins to compute.
  static constexpr Nanoseconds beginOf(int step) { return kLr + step * (kWindow + kLr); }

  static Timeline make(int steps) {
    Timeline timeline;
    for (int rank = 0; rank < kRanks; ++rank) {
      for (int step = 0; step < steps; ++step) addStep(timeline, rank, step);
    }
    timeline.sort();
    return timeline;
  }

 private:
  static void addStep(Timeline& timeline, int rank, int step) {
    const auto add = [&](JobKind kind, int microBatch, Nanoseconds begin, Nanoseconds duration) {
      timeline.track(rank, kComputeLane)
          .events.push_back({.begin = begin,
                             .end = begin + duration,
                             .step = step,
                             .microBatch = microBatch,
                             .stage = rank,
                             .kind = kind});
    };
    const Nanoseconds turn = beginOf(step) + (kMicroBatches + kRanks - 1) * kForward;
    const auto lastBackwardOf = [&](Nanoseconds first) {
      return first + (kMicroBatches + kRanks - 1 - rank) * kBackward;
    };
    const Nanoseconds before = step == 0 ? 0 : lastBackwardOf(turn) - kWindow - kLr + kOptimizer;
    add(JobKind::kLr, 0, before, kLr);
    for (int i = 0; i < kMicroBatches; ++i) {
      add(JobKind::kForward, i, beginOf(step) + (i + rank) * kForward, kForward);
      add(JobKind::kBackward, i, turn + (i + kRanks - 1 - rank) * kBackward, kBackward);
    }
    add(JobKind::kOptimizer, 0, lastBackwardOf(turn), kOptimizer);
  }
};

}  // namespace pipetrace
