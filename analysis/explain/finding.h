#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/bubbles/bubbles.h"
#include "analysis/explain/culprits.h"
#include "analysis/explain/link_times.h"
#include "analysis/explain/pauses.h"
#include "analysis/explain/scattered_pauses.h"
#include "analysis/explain/slower_ranks.h"
#include "analysis/explain/slower_stages.h"
#include "analysis/explain/uneven_micro_batches.h"
#include "trace/diagnostic.h"

namespace pipetrace {

/// An observation about a run, with the evidence for it.
struct Finding {
  Severity severity = Severity::kNote;
  std::string text;                              ///< a sentence without a full stop
  std::string advice;                            ///< what to look at next; likewise
  BubbleClass bubbleClass = BubbleClass::kNone;  ///< kNone: of several classes, or of none
  std::vector<BubbleClass> classes;              ///< all that `time` is of
  Nanoseconds time = 0;                          ///< of idle time, over all ranks and steps
  double share = 0;                              ///< of the run's idle time
  double shareOfSteps = 0;                       ///< of the steps' time on all ranks
  bool isMinor = false;                          ///< less than kMinorShare of the steps' time
  /// Those who caused it, with what each costs, the most expensive first. Empty for transfers.
  std::vector<std::pair<int, Nanoseconds>> ranks;
  /// job == kNone: nobody's. A finding about early messages has their two ranks here.
  CulpritGroup culprit;
  JobGraph::Id earliestMessage = JobGraph::kNone;  ///< of a finding about early messages
  /// The longest bubbles of it, at most kMostExamples, with their ranks (indices in
  /// JobGraph::ranks()); the longest first.
  std::vector<std::pair<std::uint32_t, Bubble>> examples;
  std::optional<Pauses> pauses;               ///< of a finding about them
  std::optional<UnevenMicroBatches> lengths;  ///< of a finding about micro-batches
  std::optional<ScatteredPauses> scattered;   ///< of a finding about pauses at different steps
};

inline constexpr double kMinorShare = 0.01;

/// The inputs of findingsOf(). All must outlive the call.
struct FindingInputs {
  const Timeline& timeline;
  const RunBasis& basis;
  const UsualTimes& times;  ///< of the steps that count
  const SlowerStages& stages;
  const SlowerRanks& ranks;
  const LinkTimes& links;
  const UnevenMicroBatches& lengths;
  const ScatteredPauses& scattered;
  const CountedSteps& counted;
  const Bubbles& bubbles;
  const Culprits& culprits;
  const RunSummary& summary;
};

/// The findings about the idle time in the steps that count: first clocks that make the others
/// doubtful, then those with a culprit, the largest first. Pauses, the schedule's own share, other
/// work, and what is not known come next, those that are minor last.
std::vector<Finding> findingsOf(const FindingInputs& run);

/// The line of a report where no finding is more than minor. `idle`: of all ranks, in the steps
/// that count. A sentence without a full stop.
const char* noFindingsText(Nanoseconds idle);

/// "3 more causes cost less than 1 % of the steps' time each, 1.2 % together"; empty: there are
/// none. A sentence without a full stop.
std::string minorFindingsText(const std::vector<Finding>& findings);

}  // namespace pipetrace
