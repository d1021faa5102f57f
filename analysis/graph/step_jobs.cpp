#include "analysis/graph/step_jobs.h"

#include <algorithm>

namespace pipetrace {

StepJobs::StepJobs(const JobGraph& graph, std::size_t pipeline, bool isOneStep)
    : graph_(graph), isOneStep_(isOneStep), ranks_(graph.pipelines()[pipeline]) {
  const auto visit = [&](const auto& use) {
    for (std::size_t position = 0; position < ranks_.size(); ++position) {
      const JobGraph::Rank& rank = graph.ranks()[ranks_[position]];
      for (Id id = rank.first; id < rank.end; ++id) {
        const JobGraph::Node& job = graph.node(id);
        if (isCompute(job.kind) && job.step >= 0) use(position, id, job.step);
      }
    }
  };
  // Jobs in a row of the same rank and step.
  struct Row {
    std::size_t position = 0;
    std::int32_t step = 0;
    std::size_t count = 0;
  };
  std::vector<Row> rows;
  visit([&](std::size_t position, Id, std::int32_t step) {
    if (rows.empty() || rows.back().step != step || rows.back().position != position) {
      rows.push_back({position, step});
    }
    ++rows.back().count;
  });
  for (const Row& row : rows) steps_.push_back(row.step);
  std::sort(steps_.begin(), steps_.end());
  steps_.erase(std::unique(steps_.begin(), steps_.end()), steps_.end());
  if (isOneStep && !steps_.empty()) steps_.erase(steps_.begin() + 1, steps_.end());

  // Counts, then places: a rank's jobs keep their order.
  std::size_t index = 0;
  const auto indexAt = [&](std::int32_t step) {
    if (!isOneStep_ && steps_[index] != step) index = indexOf(step);
    return index;
  };
  first_.assign(steps_.size() * ranks_.size() + 1, 0);
  for (const Row& row : rows) {
    first_[indexAt(row.step) * ranks_.size() + row.position + 1] += row.count;
  }
  for (std::size_t cell = 1; cell < first_.size(); ++cell) first_[cell] += first_[cell - 1];
  ids_.resize(first_.back());
  std::vector<std::size_t> next(first_.begin(), first_.end() - 1);
  visit([&](std::size_t position, Id id, std::int32_t step) {
    ids_[next[indexAt(step) * ranks_.size() + position]++] = id;
  });
}

std::size_t StepJobs::indexOf(std::int32_t step) const {
  return static_cast<std::size_t>(std::lower_bound(steps_.begin(), steps_.end(), step) -
                                  steps_.begin());
}

}  // namespace pipetrace
