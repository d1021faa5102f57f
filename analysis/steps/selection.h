#pragma once

#include <string>
#include <vector>

#include "analysis/run_summary.h"
#include "analysis/steps/number_range.h"
#include "trace/diagnostic.h"
#include "trace/timeline.h"

namespace pipetrace {

/// Which part of a run is wanted. It says what is shown and written, not what is measured: windows,
/// idle time and bubbles are those of the whole run.
struct Selection {
  std::vector<NumberRange> steps;  ///< empty: all, and what belongs to no step
  std::vector<NumberRange> ranks;  ///< empty: all
  /// Left out: kinds by their names in the job log, other types by their own. "none" is no type.
  std::vector<std::string> skippedTypes;

  bool wantsStep(std::int64_t step) const { return steps.empty() || isIn(steps, step); }
  bool wantsRank(int rank) const { return ranks.empty() || isIn(ranks, rank); }
  bool isAll() const { return steps.empty() && ranks.empty() && skippedTypes.empty(); }
};

/// Says in `diagnostics` which of what `selection` names does not occur in a completed timeline.
/// Throws Error, which says what there is, when no event would be left.
void checkSelection(const Timeline& timeline, const Selection& selection, Diagnostics& diagnostics);

/// The events of these steps, and the counter samples between their first begin and last end.
Timeline withSteps(Timeline timeline, const std::vector<NumberRange>& steps);
Timeline withRanks(Timeline timeline, const std::vector<NumberRange>& ranks);
Timeline withoutTypes(Timeline timeline, const std::vector<std::string>& types);

/// One after the other, in this order. Sorted stays sorted.
Timeline selected(Timeline timeline, const Selection& selection);

/// The steps and ranks of `selection`. Sums and ratios are over what is left of them; each step's
/// begin, window and span bubble stay those of the whole pipeline.
RunSummary selected(RunSummary summary, const Selection& selection);

}  // namespace pipetrace
