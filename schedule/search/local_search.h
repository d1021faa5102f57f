#pragma once

#include "schedule/search/plan_model.h"

namespace pipetrace {

/// When a search for a better plan stops.
struct SearchBudget {
  long long jobs = 0;    ///< how many jobs are timed, over all plans tried
  PlanScore lowerBound;  ///< what no plan can beat: length, and longest span
};

/// Makes a plan better by moving jobs that lie on its critical path. A job swaps places with its
/// neighbours there, and weight halves go into gaps or out of the way. Worse plans are accepted
/// too, up to a threshold that falls to nothing. (Threshold accepting, Dueck and Scheuer 1990; the
/// neighbourhood is that of job-shop scheduling.) `orders`, which must keep the model's limits,
/// becomes the best plan that is seen. The same input gives the same plan.
PlanScore improve(PlanModel& model, JobOrders& orders, const SearchBudget& budget);

}  // namespace pipetrace
