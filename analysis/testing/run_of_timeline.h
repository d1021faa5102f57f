#pragma once

#include <utility>

#include "analysis/run/run.h"

namespace pipetrace {

/// The run of a completed timeline. In tests `Run` is a function of GoogleTest.
inline Run asRun(Timeline timeline, int threads = 1) { return Run(std::move(timeline), threads); }

/// The metrics of a completed timeline.
inline RunSummary summarize(const Timeline& timeline, int threads = 1) {
  return summarize(timeline, topologyOf(timeline, threads), threads);
}

/// Gives a completed timeline its lanes of bubbles.
inline void addBubbles(Timeline& timeline, int threads = 1) {
  timeline = Run(std::move(timeline), threads).ready(BubbleChoice::kFound).timeline;
}

}  // namespace pipetrace
