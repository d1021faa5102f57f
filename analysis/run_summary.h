#pragma once

#include <cstdint>
#include <vector>

#include "trace/diagnostic.h"
#include "trace/step_windows.h"
#include "trace/timeline.h"

namespace pipetrace {

/// One rank's share of one step. busy + idle = the step's window.
struct RankStep {
  int rank = 0;
  Nanoseconds busy = 0;  ///< union of its compute jobs inside the window, of any step
  Nanoseconds idle = 0;
};

/// One step over the ranks of one pipeline.
struct StepSummary : StepWindow {
  double bubbleRatio = 0;       ///< 1 − Σ busy / (ranks · window)
  double spanBubble = 0;        ///< (longest rank's last end − first start − work) / that span
  std::vector<RankStep> ranks;  ///< those with a compute job in the run
};

/// One rank over all steps.
struct RankSummary {
  int rank = 0;
  int replica = 0;
  Nanoseconds busy = 0;
  Nanoseconds idle = 0;
  double bubbleRatio = 0;  ///< idle / (busy + idle)
};

/// What a run did, in the definitions of docs/metrics.md.
struct RunSummary {
  std::vector<StepSummary> steps;  ///< by replica, then step
  std::vector<RankSummary> ranks;
  double bubbleRatio = 0;  ///< over all steps: 1 − Σ busy / Σ (ranks · window)
  bool topologyInferred = false;
};

/// Gives every event a step where the log gave none (cut as PaddlePaddle's script cuts them), and
/// stage and chunk where they follow from the topology; says in `diagnostics` what it inferred, in
/// one note, and warns when the ranks are not those of one whole run (checkRankAgreement) or a step
/// lacks jobs (findIncompleteSteps). On so many threads (0: one per core), which make no difference
/// to the result.
void completeTimeline(Timeline& timeline, Diagnostics& diagnostics, int threads = 1);

/// Sums up a completed timeline, on so many threads, which makes no difference to the result.
/// Bubble events in it are ignored.
RunSummary summarize(const Timeline& timeline, int threads = 1);

/// Appends each rank's idle time inside the steps' windows as events of the lane "bubbles"
/// (class unknown) of a sorted timeline, replacing those there. Their durations add up to each
/// RankStep's idle. The windows of a replica do not overlap.
void appendBubbles(Timeline& timeline, const RunSummary& summary, int threads = 1);

}  // namespace pipetrace
