#pragma once

#include <optional>
#include <string>
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
  std::optional<Pauses> pauses;  ///< of a finding about them
};

/// The findings about the idle time: first clocks that make the others doubtful, then those with a
/// culprit, the largest first. Pauses, the schedule's own share, other work, and what is not known
/// come last.
std::vector<Finding> findingsOf(const Timeline& timeline, const RunBasis& basis,
                                const SlowerStages& stages, const Bubbles& bubbles,
                                const Culprits& culprits, const RunSummary& summary);

}  // namespace pipetrace
