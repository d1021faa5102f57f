#pragma once

#include <string>

#include "schedule/check/checked_plan.h"

namespace pipetrace {

/// The plan as a schedule file that torch.distributed.pipelining loads with
/// `_load_csv(file, format="compute_comms")`: one row a rank and no comment. A stage without a
/// REDUCE_GRAD, which scales its gradients, gets one after its last backward pass or weight half,
/// and after the sends right behind that, as torch puts it. Credits are left out; torch has none.
///
/// Throws Error for a plan that torch does not run. Such are plans with recomputes, forward-only,
/// asynchronous and bidirectional plans, those without sends and receives, and those with
/// data-parallel work on a rank that does not have its stage. So are backwards in parts.
///
/// Source: _Action.from_str(), _validate_schedule() and _add_reduce_grad() in torch 2.11.
std::string toTorchCsv(const CheckedPlan& plan);

}  // namespace pipetrace
