#pragma once

#include <vector>

#include "schedule/check/check.h"

namespace pipetrace {

/// Which of the limits a plan does not keep. All its work must be in range.
std::vector<Problem> limitProblems(const Plan& plan, const CheckOptions& options);

}  // namespace pipetrace
