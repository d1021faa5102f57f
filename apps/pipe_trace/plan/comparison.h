#pragma once

#include "apps/pipe_trace/plan/options.h"

namespace pipetrace {

/// `pipe-trace plan --compare`: prints all schedules beside each other. Returns the exit code.
/// Throws Error for options that leave the size open, and for costs that cannot be read.
int runComparison(const PlanOptions& options);

}  // namespace pipetrace
