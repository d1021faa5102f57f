#pragma once

#include <cstdint>
#include <vector>

#include "analysis/run/steps/device_work.h"
#include "trace/diagnostic.h"
#include "trace/step_windows.h"
#include "trace/timeline.h"
#include "trace/topology.h"

namespace pipetrace {

/// One rank in one step. busy + idle = the step's window.
struct RankStep {
  int rank = 0;
  Nanoseconds busy = 0;  ///< union of its compute jobs of any step inside the window
  Nanoseconds idle = 0;
};

/// One step over the ranks of one pipeline.
struct StepSummary : StepWindow {
  double bubbleRatio = 0;       ///< 1 − Σ busy / (ranks · window)
  double spanBubble = 0;        ///< (longest rank's last end − first start − work) / that span
  std::vector<RankStep> ranks;  ///< the ranks that have a compute job in the run
};

/// One rank over all steps.
struct RankSummary {
  int rank = 0;
  int replica = 0;  ///< the number of its pipeline, as in Topology
  Nanoseconds busy = 0;
  Nanoseconds idle = 0;
  double bubbleRatio = 0;  ///< idle / (busy + idle)
};

/// The metrics of a run, as docs/metrics.md defines them.
struct RunSummary {
  Phase phase = Phase::kTraining;      ///< that all figures are about: countedPhaseOf()
  std::vector<StepSummary> steps;      ///< of that phase, by replica, then step
  std::vector<StepWindow> otherSteps;  ///< those of other phases, in the same order
  std::vector<RankSummary> ranks;
  double bubbleRatio = 0;  ///< over all steps: 1 − Σ busy / Σ (ranks · window)
  bool topologyInferred = false;
  int tensorRanks = 1;                      ///< as in Topology
  std::vector<StageDeviceWork> deviceWork;  ///< empty without times of a device

  /// Whether the pipelines never drain, so that all their steps count as one.
  bool isAsynchronous() const;
};

/// Completes what the logs did not give: the steps of events (giveSteps), and stages and chunks
/// where they follow from the topology. Traces give messages from one end; these get the other one
/// (givePeers, endSendsWithReceives). `diagnostics` gets one note about everything that was
/// inferred. It also warns when the ranks are not those of one whole run (checkRankAgreement) or a
/// step lacks jobs (findIncompleteSteps). Uses that many threads (0: one per core), which makes no
/// difference to the result.
void completeTimeline(Timeline& timeline, Diagnostics& diagnostics, int threads = 1);

/// The metrics of a completed timeline, whose topology is given. Ignores bubble events in it. Steps
/// of other phases than `phase` of the result only cut the windows of those that count. Uses that
/// many threads, which makes no difference to the result.
RunSummary summarize(const Timeline& timeline, const Topology& topology, int threads = 1);
/// The same of the steps of one phase, which is the result's.
RunSummary summarizePhase(const Timeline& timeline, const Topology& topology, Phase phase,
                          int threads = 1);

}  // namespace pipetrace
