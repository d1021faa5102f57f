#include "analysis/run/graph/step_jobs.h"

#include <algorithm>
#include <utility>

#include "trace/threads/in_parallel.h"

namespace pipetrace {

StepJobs::StepJobs(const JobGraph& graph, std::size_t pipeline, std::vector<std::int32_t> begins,
                   int threads)
    : graph_(graph), begins_(std::move(begins)), ranks_(graph.pipelines()[pipeline]) {
  const auto visit = [&](std::size_t position, const auto& use) {
    const JobGraph::Rank& rank = graph.ranks()[ranks_[position]];
    for (Id id = rank.first; id < rank.end; ++id) {
      const JobGraph::Node& job = graph.node(id);
      if (isCompute(job.kind) && job.step >= 0) use(id, countedAs(job.step));
    }
  };
  // Jobs in a row of the same rank and step.
  struct Row {
    std::int32_t step = 0;
    std::size_t count = 0;
  };
  std::vector<std::vector<Row>> rows(ranks_.size());
  inParallel(threads, ranks_.size(), [&](std::size_t position) {
    std::vector<Row> found;
    visit(position, [&](Id, std::int32_t step) {
      if (found.empty() || found.back().step != step) found.push_back({step});
      ++found.back().count;
    });
    rows[position] = std::move(found);
  });
  for (const auto& ofRank : rows) {
    for (const Row& row : ofRank) steps_.push_back(row.step);
  }
  std::sort(steps_.begin(), steps_.end());
  steps_.erase(std::unique(steps_.begin(), steps_.end()), steps_.end());

  // Counts, then places: a rank's jobs keep their order.
  first_.assign(steps_.size() * ranks_.size() + 1, 0);
  for (std::size_t position = 0; position < ranks_.size(); ++position) {
    for (const Row& row : rows[position]) {
      const std::size_t index = indexOf(row.step);
      first_[index * ranks_.size() + position + 1] += row.count;
    }
  }
  for (std::size_t cell = 1; cell < first_.size(); ++cell) first_[cell] += first_[cell - 1];
  ids_.resize(first_.back());
  inParallel(threads, ranks_.size(), [&](std::size_t position) {
    std::vector<std::size_t> next(steps_.size());
    for (std::size_t step = 0; step < next.size(); ++step) {
      next[step] = first_[step * ranks_.size() + position];
    }
    std::size_t index = 0;
    visit(position, [&](Id id, std::int32_t step) {
      if (steps_[index] != step) index = indexOf(step);
      ids_[next[index]++] = id;
    });
  });
}

std::size_t StepJobs::indexOf(std::int32_t step) const {
  // Most runs have the steps n, n + 1, n + 2, …
  if (steps_.empty()) return 0;
  const auto guess = static_cast<std::size_t>(std::int64_t{step} - steps_.front());
  if (step >= steps_.front() && guess < steps_.size() && steps_[guess] == step) return guess;
  return static_cast<std::size_t>(std::lower_bound(steps_.begin(), steps_.end(), step) -
                                  steps_.begin());
}

}  // namespace pipetrace
