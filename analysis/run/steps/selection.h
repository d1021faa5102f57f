#pragma once

#include <string>
#include <vector>

#include "analysis/run/steps/interval.h"
#include "analysis/run_summary.h"
#include "trace/diagnostic.h"
#include "trace/timeline.h"

namespace pipetrace {

/// The part of a run to show and write. Measures do not depend on it: windows, idle time and
/// bubbles are those of the whole run.
struct Selection {
  std::vector<NumberRange> steps;  ///< empty: all, and events without a step
  std::vector<NumberRange> ranks;  ///< empty: all
  /// Types to leave out: kinds by their names in the job log, other types by their own names.
  /// "none" is not a type.
  std::vector<std::string> skippedTypes;

  bool wantsStep(std::int64_t step) const { return steps.empty() || isIn(steps, step); }
  bool wantsRank(int rank) const { return ranks.empty() || isIn(ranks, rank); }
  bool isAll() const { return steps.empty() && ranks.empty() && skippedTypes.empty(); }
};

/// Warns of ranks, steps and types of `selection` that do not occur in a completed timeline. Throws
/// Error, which lists what occurs, when no event would be left.
void checkSelection(const Timeline& timeline, const Selection& selection, Diagnostics& diagnostics);

/// Keeps the events of these steps, and the counter samples between their first begin and last end.
Timeline withSteps(Timeline timeline, const std::vector<NumberRange>& steps);
/// Where none of these steps is of the phase that counts (countedPhaseOf()), keeps the events of
/// their phase alone, so that all figures are about that. Else changes nothing.
Timeline inPhaseOf(const std::vector<NumberRange>& steps, Timeline timeline);
Timeline withRanks(Timeline timeline, const std::vector<NumberRange>& ranks);
Timeline withoutTypes(Timeline timeline, const std::vector<std::string>& types);

/// Applies the steps, the ranks and the skipped types of `selection`, in this order. A sorted
/// timeline stays sorted.
Timeline selected(Timeline timeline, const Selection& selection);

/// Keeps the steps and ranks of `selection`. Sums and ratios are over those that are left. Each
/// step's begin, window and span bubble stay those of the whole pipeline.
RunSummary selected(RunSummary summary, const Selection& selection);

}  // namespace pipetrace
