#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/what_if/advice.h"
#include "analysis/what_if/run_again.h"

namespace pipetrace {

/// Advice on changes of the run itself is made of this. All must outlive the call.
struct RunAdviceInputs {
  const Run& run;
  const RunAgain& again;
  const CountedSteps& counted;
  Nanoseconds step = 0;             ///< AdviceList::step
  std::optional<Nanoseconds> wall;  ///< AdviceList::wall
  AdviceProgress* progress = nullptr;
  std::string logs;  ///< AdviceQuestion::logs
};

/// Says what the run would gain if
/// - its stages took equally long (RunChanges::balancesStages);
/// - a rank that is slower than its peers (SlowerRanks) were as fast as they are, for each of them;
/// - a link took no longer than the others in the median, for each that takes longer;
/// - launches were gone;
/// - no rank waited for its data loader;
/// - micro-batches that are of uneven length (UnevenMicroBatches) were of equal length;
/// - pauses that ranks make at different steps (ScatteredPauses) were at the same steps: as many of
///   their median length as a rank makes in the mean.
///   That is about means over steps.
///
/// The run again is exact for the run as it was, so the error is that of the run: 0.
std::vector<Advice> adviceOfRun(const RunAdviceInputs& run);

}  // namespace pipetrace
