#pragma once

#include <string>
#include <vector>

#include "schedule/compare/compare_plans.h"

namespace pipetrace {

/// The compared plans as a table, a row each, the shortest step first. Below it stands what was
/// left out, and why. Steps have as many digits as tell the rows apart. Lines of prose have at most
/// `width` bytes, unless a word is longer. Ends with a newline.
std::string comparisonText(const CompareInput& input, const ComparedPlans& compared,
                           int width = 100);

/// The same as one JSON object with the keys of docs/schedules.md. Ends with a newline.
std::string comparisonJson(const CompareInput& input, const ComparedPlans& compared);

/// The times in one unit, with two to six decimals: as many as tell different times apart, as far
/// as they can. "12.00 ms".
std::vector<std::string> distinctDurations(const std::vector<Nanoseconds>& times);

}  // namespace pipetrace
