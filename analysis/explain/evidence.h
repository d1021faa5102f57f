#pragma once

#include <optional>
#include <string>

#include "analysis/explain/explanation.h"

namespace pipetrace {

/// The bubble or the job that shows best what a finding is about.
struct Evidence {
  int rank = 0;
  std::string lane;
  Event event;  ///< a bubble may lack what appendBubbles() adds, the culprit
};

/// The evidence of a finding of the run. Idle time has its longest bubble. Pauses have the work in
/// the longest of them, or the first job after it. Early messages have the earliest. Nothing where
/// there is none. `timeline` is the one that was explained.
std::optional<Evidence> evidenceOf(const Timeline& timeline, const Explanation& run,
                                   const Finding& finding);

}  // namespace pipetrace
