#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "analysis/run/graph/job_graph.h"

namespace pipetrace {

/// The compute jobs of one pipeline by step and rank, each rank's in the order of their begins.
class StepJobs {
 public:
  using Id = JobGraph::Id;

  /// `pipeline`: index in graph.pipelines(). The graph must outlive it. Jobs without a step are
  /// left out.
  /// `begins`: ascending numbers of steps, of which each and those that follow it up to the next
  /// count as that one, as in an asynchronous run. Empty: each step is one.
  StepJobs(const JobGraph& graph, std::size_t pipeline, std::vector<std::int32_t> begins = {},
           int threads = 1);

  std::size_t rankCount() const { return ranks_.size(); }
  /// Its ranks, as indices in graph.ranks(), by position.
  const std::vector<std::uint32_t>& ranks() const { return ranks_; }
  /// The steps with a compute job, ascending.
  const std::vector<std::int32_t>& steps() const { return steps_; }
  /// The step that a job counts in; negative: none.
  std::int32_t stepOf(Id job) const {
    const std::int32_t step = graph_.node(job).step;
    return step >= 0 ? countedAs(step) : step;
  }
  /// Whether steps count as others.
  bool areJoined() const { return !begins_.empty(); }
  /// The index of `step` in steps(); it must be there.
  std::size_t indexOf(std::int32_t step) const;

  /// The jobs of a step (its index) on the rank at `position`.
  std::span<const Id> jobs(std::size_t step, std::size_t position) const {
    const std::size_t cell = step * ranks_.size() + position;
    return std::span(ids_).subspan(first_[cell], first_[cell + 1] - first_[cell]);
  }
  /// All jobs of a step, rank after rank.
  std::span<const Id> jobs(std::size_t step) const {
    const std::size_t from = first_[step * ranks_.size()];
    return std::span(ids_).subspan(from, first_[(step + 1) * ranks_.size()] - from);
  }

 private:
  std::int32_t countedAs(std::int32_t step) const {
    if (begins_.empty()) return step;
    const auto next = std::upper_bound(begins_.begin(), begins_.end(), step);
    return next == begins_.begin() ? begins_.front() : *(next - 1);
  }

  const JobGraph& graph_;
  std::vector<std::int32_t> begins_;
  std::vector<std::uint32_t> ranks_;
  std::vector<std::int32_t> steps_;
  std::vector<std::size_t> first_;  // by step and position
  std::vector<Id> ids_;
};

}  // namespace pipetrace
