#pragma once

#include "runtime/stage_work.h"
#include "runtime/transport/transport.h"
#include "schedule/check/checked_plan.h"

namespace pipetrace {

/// Hands the plan to the work (StageWork::accept()). Throws Error for a plan that the work or the
/// transport cannot run, such as one that deadlocks on its lines. `ahead`: as in ExecutorOptions.
void requireFits(const CheckedPlan& plan, StageWork& work, const Transport& transport, int ahead);

}  // namespace pipetrace
