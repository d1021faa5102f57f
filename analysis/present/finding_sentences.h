#pragma once

#include <string>
#include <vector>

#include "analysis/causes/findings.h"

namespace pipetrace {

// The words of findings, made of their facts alone. All are sentences without a full stop.

/// Says what was found.
std::string findingText(const Finding& finding);

/// Says what would remove it, or what to look at next.
std::string remedyText(const Finding& finding);

/// The line of a report where no finding is more than minor. `idle`: of all ranks, in the steps
/// that count.
const char* noFindingsText(Nanoseconds idle);

/// "3 more causes cost less than 1 % of the steps' time each, 1.2 % together"; empty: there are
/// none.
std::string minorFindingsText(const std::vector<Finding>& findings);

/// The name of the work that fills a pause: its longest job; of an evaluation its steps, "step 6",
/// "steps 6 to 8".
std::string workText(const Pauses& pauses);

}  // namespace pipetrace
