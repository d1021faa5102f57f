#include "analysis/bubbles/planned_idle.h"

#include "analysis/graph/order_times.h"
#include "trace/threads/in_parallel.h"
#include "trace/threads/turns.h"

namespace pipetrace {

PlannedIdle::PlannedIdle(const JobGraph& graph, const StepJobs& jobs, const UsualTimes& times,
                         int threads)
    : jobs_(jobs), after_(jobs.steps().size() * jobs.rankCount()) {
  if (jobs.rankCount() == 0) return;
  firstJob_ = graph.ranks()[jobs.ranks().front()].first;
  before_.resize(graph.ranks()[jobs.ranks().back()].end - firstJob_);
  const std::size_t count = jobs.steps().size();
  const auto tasks = static_cast<std::size_t>(threadCount(threads));
  inParallel(threads, tasks, [&](std::size_t task) {
    if (count * task / tasks == count * (task + 1) / tasks) return;
    OrderTimes order(graph, jobs);
    for (std::size_t step = count * task / tasks; step < count * (task + 1) / tasks; ++step) {
      order.run(
          step, [&](Id job) { return times.balanced(job); },
          [&](Id job, Nanoseconds, Nanoseconds idle) { before_[job - firstJob_] = idle; });
      for (std::size_t p = 0; p < jobs.rankCount(); ++p) {
        const bool runs = !jobs.jobs(step, p).empty();
        after_[step * jobs.rankCount() + p] = runs ? order.length() - order.end(p) : 0;
      }
    }
  });
}

Nanoseconds PlannedIdle::after(std::int32_t step, std::size_t position) const {
  const std::size_t index = jobs_.indexOf(step);
  if (index == jobs_.steps().size() || jobs_.steps()[index] != step) return 0;
  return after_[index * jobs_.rankCount() + position];
}

}  // namespace pipetrace
