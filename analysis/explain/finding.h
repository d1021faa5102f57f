#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/bubbles/bubbles.h"
#include "analysis/explain/culprits.h"
#include "analysis/explain/pauses.h"
#include "analysis/explain/slower_stages.h"
#include "trace/diagnostic.h"

namespace pipetrace {

/// An observation about a run, with the evidence for it.
struct Finding {
  Severity severity = Severity::kNote;
  std::string text;                              ///< a sentence without a full stop
  BubbleClass bubbleClass = BubbleClass::kNone;  ///< kNone: of several classes, or of none
  std::vector<BubbleClass> classes;              ///< all that `time` is of
  Nanoseconds time = 0;                          ///< of idle time, over all ranks and steps
  double share = 0;                              ///< of the run's idle time
  /// job == kNone: nobody's. A finding about early messages has their two ranks here.
  CulpritGroup culprit;
  JobGraph::Id earliestMessage = JobGraph::kNone;  ///< of a finding about early messages
  /// The longest bubbles of it, at most kMostExamples, with their ranks (indices in
  /// JobGraph::ranks()); the longest first.
  std::vector<std::pair<std::uint32_t, Bubble>> examples;
  std::optional<Pauses> pauses;  ///< of a finding about them
};

inline constexpr std::size_t kMostExamples = 3;

/// Returns what a report says where there are no findings. It is a sentence without a full stop.
const char* noFindingsText(const Bubbles& bubbles);

/// The findings about the idle time: first clocks that make the others doubtful, then those with a
/// culprit, the largest first. Pauses, the schedule's own share, other work, and what is not known
/// come last.
std::vector<Finding> findingsOf(const Timeline& timeline, const RunBasis& basis,
                                const SlowerStages& stages, const Bubbles& bubbles,
                                const Culprits& culprits, const RunSummary& summary);

}  // namespace pipetrace
