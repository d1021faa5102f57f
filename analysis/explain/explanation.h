#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/bubbles/bubbles.h"
#include "analysis/explain/critical_path.h"
#include "analysis/explain/culprits.h"
#include "analysis/explain/efficiency.h"
#include "analysis/explain/finding.h"
#include "analysis/explain/followed_schedule.h"
#include "analysis/explain/slack.h"
#include "analysis/run_summary.h"
#include "analysis/slowdown/slowdown.h"
#include "analysis/steps/counted_steps.h"
#include "analysis/steps/number_range.h"

namespace pipetrace {

/// Choices of explainRun().
struct ExplainOptions {
  /// The steps that all figures and findings are about. Empty: all but a long first one
  /// (CountedSteps).
  std::vector<NumberRange> steps;
  /// These are for logs that do not know them: of the whole run in one step, and of one device.
  std::optional<double> tokensPerStep;
  std::optional<double> flopsPerStep;
  std::optional<double> peakFlops;  ///< floating-point operations a second
  int threads = 1;
  /// The run's logs, for commands of advice, as a shell reads them.
  std::string logs = "LOGS";
};

/// One rank over the steps that count.
struct ExplainedRank {
  int rank = 0;
  int position = 0;  ///< in its pipeline; where ranks are missing and nobody knows which, among
                     ///< those that are there
  int replica = 0;
  Nanoseconds busy = 0;
  Nanoseconds idle = 0;
  Nanoseconds launchBound = 0;  ///< inside its jobs, where they have the times of a device
  ClassTimes bubbles{};         ///< add up to `idle`
};

struct ExplainedStep {
  StepSummary summary;
  StepEfficiency efficiency;
  bool isWhole = true;    ///< false: jobs of the step are missing
  bool isCounted = true;  ///< as CountedSteps says
};

/// The reasons for a run's idle time. It points into the timeline that it was made of. All but the
/// summary, the bubbles and the list of steps are about the steps that count.
struct Explanation {
  std::unique_ptr<JobGraph> graph;
  std::unique_ptr<RunBasis> basis;
  RunSummary summary;
  Topology topology;
  Bubbles bubbles;  ///< of all steps
  CountedSteps counted;
  FollowedSchedule schedule;
  std::vector<ExplainedRank> ranks;  ///< as JobGraph::ranks()
  std::vector<ExplainedStep> steps;  ///< by replica, then step
  Culprits culprits;
  std::vector<Finding> findings;
  CommunicationTime communication;  ///< in the steps that count
  Slowdown slowdown;
  PathShares pathShares;  ///< of the steps that count
  StepPath longestStep;   ///< the path of the longest of them
  /// By job (JobGraph::Id), of compute jobs of the steps that count; -1 for all others. Steps that
  /// lack jobs, or whose pipelines lack ranks, have none.
  std::vector<Nanoseconds> slack;
  std::map<std::int32_t, StageSlack> slackByStage;
  std::optional<double> tokensPerSecond;
  std::optional<double> modelFlopsUtilization;  ///< share of the devices' peak
};

/// Explains a completed timeline (completeTimeline()), which must outlive the result and stay as it
/// is. Linear in jobs and messages, apart from sorting.
Explanation explainRun(const Timeline& timeline, const ExplainOptions& options);

/// The first part of explainRun(): summary, topology, graph, basis and bubbles.
Explanation classifiedRun(const Timeline& timeline, int threads);

/// How many steps a window has: 1. One of an asynchronous run has as many as its first rank begins
/// the forwards of.
double stepsIn(const JobGraph& graph, const StepSummary& window);

/// Which steps of a classified run count. `chosen`: as in ExplainOptions.
CountedSteps countedStepsOf(const Explanation& run, const std::vector<NumberRange>& chosen);

/// The other part. `result` is what classifiedRun() made of the same timeline; joinBubbles() may
/// have come in between.
void explain(const Timeline& timeline, const ExplainOptions& options, Explanation& result);

}  // namespace pipetrace
