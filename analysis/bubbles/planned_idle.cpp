#include "analysis/bubbles/planned_idle.h"

#include <algorithm>

#include "analysis/rerun/rerun_times.h"
#include "trace/threads/in_parallel.h"

namespace pipetrace {

PlannedIdle::PlannedIdle(const JobGraph& graph, const StepJobs& jobs, const MedianDurations& times,
                         int threads)
    : jobs_(jobs),
      after_(jobs.steps().size() * jobs.rankCount()),
      ownLengths_(jobs.steps().size()) {
  if (jobs.rankCount() == 0) return;
  firstJob_ = graph.ranks()[jobs.ranks().front()].first;
  before_.resize(graph.ranks()[jobs.ranks().back()].end - firstJob_);
  inParallel(threads, jobs.steps().size(), [&](std::size_t step) { planStep(graph, times, step); });
}

void PlannedIdle::planStep(const JobGraph& graph, const MedianDurations& times, std::size_t step) {
  constexpr std::size_t kPlan = 0;
  constexpr std::size_t kMeasured = 1;
  using Times = RerunTimes<2>;
  const RerunOrder order(graph, jobs_, times, step);
  Times rerun(order);
  rerun.run([](const RerunOrder::Work& work) { return Times::Row{work.ideal, work.measured}; });
  const Times::Row length = rerun.length();
  ownLengths_[step] = static_cast<Nanoseconds>(length[kMeasured]);
  RerunOrder::Index index = 0;
  for (std::size_t p = 0; p < jobs_.rankCount(); ++p) {
    double free = 0;
    for (const Id job : jobs_.jobs(step, p)) {
      const double end = rerun.end(index)[kPlan];
      before_[job - firstJob_] =
          static_cast<Nanoseconds>(end - order.operations()[index].ideal - free);
      free = end;
      ++index;
    }
    const bool runs = !jobs_.jobs(step, p).empty();
    after_[step * jobs_.rankCount() + p] =
        runs ? static_cast<Nanoseconds>(length[kPlan] - free) : 0;
  }
}

Nanoseconds PlannedIdle::after(std::int32_t step, std::size_t position) const {
  const std::size_t index = jobs_.indexOf(step);
  if (index == jobs_.steps().size() || jobs_.steps()[index] != step) return 0;
  return after_[index * jobs_.rankCount() + position];
}

}  // namespace pipetrace
