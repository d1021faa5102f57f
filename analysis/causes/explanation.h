#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/causes/critical_path.h"
#include "analysis/causes/culprits.h"
#include "analysis/causes/efficiency.h"
#include "analysis/causes/findings.h"
#include "analysis/causes/inside_times.h"
#include "analysis/causes/slack.h"
#include "analysis/causes/slowdown.h"
#include "analysis/run/run.h"
#include "analysis/run/steps/interval.h"

namespace pipetrace {

/// Choices of an Explanation.
struct ExplainOptions {
  /// The steps that all figures and findings are about. Empty: all but a long first one
  /// (CountedSteps).
  std::vector<NumberRange> steps;
  /// These are for logs that do not know them: of the whole run in one step, and of one device.
  std::optional<double> tokensPerStep;
  std::optional<double> flopsPerStep;
  std::optional<double> peakFlops;  ///< floating-point operations a second
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
  /// How many times as long its own jobs take as those of others: its stages beside the other
  /// stages (SlowerStages), times the rank beside its peers (SlowerRanks). 1 where there are none.
  double work = 1;
};

struct ExplainedStep {
  StepSummary summary;
  StepEfficiency efficiency;
  bool isWhole = true;    ///< false: jobs of the step are missing
  bool isCounted = true;  ///< as CountedSteps says
};

/// The reasons for a run's idle time. All but the parts of the run and the list of steps are about
/// the steps that count.
struct Explanation {
  /// Explains `run`, which must outlive the result. Linear in jobs and messages, apart from
  /// sorting.
  Explanation(const Run& run, const ExplainOptions& options);
  Explanation(const Explanation&) = delete;
  Explanation& operator=(const Explanation&) = delete;
  ~Explanation() = default;

  const Run& of;
  // Parts of that run.
  const RunSummary& summary;
  const Topology& topology;
  const JobGraph* graph;
  const RunBasis* basis;
  const Bubbles& bubbles;

  CountedSteps counted;
  FollowedSchedule schedule;
  std::vector<ExplainedRank> ranks;  ///< as JobGraph::ranks()
  std::vector<ExplainedStep> steps;  ///< by replica, then step
  Culprits culprits;
  std::vector<InsideTimes> inside;  ///< insideTimesOf()
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

/// How many steps a window has: 1. One of an asynchronous run has as many as its first rank begins
/// the forwards of.
double stepsIn(const JobGraph& graph, const StepSummary& window);

}  // namespace pipetrace
