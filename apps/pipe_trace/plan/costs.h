#pragma once

#include "analysis/costs/given_costs.h"
#include "apps/pipe_trace/plan/options.h"

namespace pipetrace {

/// The costs that the options give: from the costs file, a run, or flag by flag. Throws Error for
/// what cannot be read, naming the option.
GivenCosts readCosts(const PlanCostOptions& options);

/// --limit in bytes; 0: no limit. Throws Error for what is no size, and where memory is not known.
std::int64_t readLimit(const std::string& limitGb, const GivenCosts& costs);

/// All bytes of a file, or of standard input for "-". Throws Error.
std::string readText(const std::string& path, const char* what);

}  // namespace pipetrace
