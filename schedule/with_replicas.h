#pragma once

#include "schedule/plan.h"

namespace pipetrace {

/// The plan as that many equal pipelines, one after the other (Plan::replicas): even data
/// parallelism. Ranks and micro-batches are numbered as Plan says. Throws Error for less than one
/// replica, and for a plan that has replicas already. 1 changes nothing.
Plan withReplicas(Plan plan, int replicas);

}  // namespace pipetrace
