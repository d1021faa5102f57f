#pragma once

#include "schedule/plan.h"

namespace pipetrace {

/// The forwards of a plan alone, in their order, with the messages between them where the plan has
/// these: what torch.distributed.pipelining's eval() runs of a schedule. A fused pair leaves its
/// forward, a recompute nothing. Data-parallel actions on parameters stay, those on gradients go.
/// Updates of the weights are dropped, credits and the placement stay. The name is "forward part of
/// 1F1B"; a plan without backward passes is returned as it is.
Plan forwardPart(const Plan& plan);

}  // namespace pipetrace
