#include "analysis/bubbles/planned_idle.h"

#include "analysis/graph/order_times.h"

namespace pipetrace {

PlannedIdle::PlannedIdle(const JobGraph& graph, const StepJobs& jobs, const UsualTimes& times)
    : jobs_(jobs), after_(jobs.steps().size() * jobs.rankCount()) {
  if (jobs.rankCount() == 0) return;
  firstJob_ = graph.ranks()[jobs.ranks().front()].first;
  before_.resize(graph.ranks()[jobs.ranks().back()].end - firstJob_);
  OrderTimes order(graph, jobs);
  for (std::size_t step = 0; step < jobs.steps().size(); ++step) {
    order.run(
        step, [&](Id job) { return times.balanced(job); },
        [&](Id job, Nanoseconds, Nanoseconds idle) { before_[job - firstJob_] = idle; });
    for (std::size_t p = 0; p < jobs.rankCount(); ++p) {
      const bool runs = !jobs.jobs(step, p).empty();
      after_[step * jobs.rankCount() + p] = runs ? order.length() - order.end(p) : 0;
    }
  }
}

Nanoseconds PlannedIdle::after(std::int32_t step, std::size_t position) const {
  const std::size_t index = jobs_.indexOf(step);
  if (index == jobs_.steps().size() || jobs_.steps()[index] != step) return 0;
  return after_[index * jobs_.rankCount() + position];
}

}  // namespace pipetrace
