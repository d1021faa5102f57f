#pragma once

#include <optional>
#include <string>
#include <vector>

#include "schedule/compare/compare_plans.h"

namespace pipetrace {

/// The run that costs were measured in.
struct ComparedRun {
  std::string schedule;  ///< as in knownSchedules(); empty: none has its order
  int chunks = 1;
  Nanoseconds step = 0;    ///< as RunPlan::step; 0: the plans are of another size
  int replica = 0;         ///< whose costs they are: it ends its jobs last
  int replicas = 1;        ///< of the run
  Nanoseconds launch = 0;  ///< the usual one of its jobs, which is not in the costs
};

/// The compared plans as a table, a row each, the shortest step first. Below it stands what was
/// left out, and why. Steps have as many digits as tell the rows apart. Lines of prose have at most
/// `width` bytes, unless a word is longer. Ends with a newline. `run`, if given, stands beside its
/// own row.
std::string comparisonText(const CompareInput& input, const ComparedPlans& compared,
                           int width = 100, const std::optional<ComparedRun>& run = {});

/// The same as one JSON object with the keys of docs/schedules.md. Ends with a newline.
std::string comparisonJson(const CompareInput& input, const ComparedPlans& compared,
                           const std::optional<ComparedRun>& run = {});

/// The row of the run's own schedule; null: there is none.
const ComparedPlan* rowOf(const ComparedRun& run, const ComparedPlans& compared);

/// The times in one unit, with two to six decimals: as many as tell different times apart, as far
/// as they can. "12.00 ms".
std::vector<std::string> distinctDurations(const std::vector<Nanoseconds>& times);

}  // namespace pipetrace
