#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "analysis/run/graph/job_graph.h"
#include "analysis/run/steps/counted_steps.h"

namespace pipetrace {

/// How long the compute jobs of a run usually are, by stage and kind; of jobs in parts
/// (Event::part), each part is a kind of its own. A rank has the median of its
/// jobs over the steps that count; of an even count it is the mean of the middle two, rounded down.
/// A stage has the lower median of its ranks: replicas, tensor-parallel peers and all others that
/// run it. So what all of them have in common is the stage's, and what one rank has alone is its
/// own.
///
/// What jobs wait inside for other ranks is no part of their durations (JobGraph::lengthOf()).
///
/// A stage whose micro-batches n ranks share (JobGraph::turnsOf()) keeps up with the others if its
/// jobs take n times as long. So stages are compared by their medians / n.
class MedianDurations {
 public:
  /// Which time of a job counts.
  enum class Of : std::uint8_t {
    kJobs,      ///< JobGraph::lengthOf()
    kOwnTimes,  ///< JobGraph::ownTimeOf()
    kKernels,   ///< JobGraph::kernelTimeOf()
  };

  /// The graph must outlive it.
  explicit MedianDurations(const JobGraph& graph, int threads = 1, const CountedSteps& counted = {},
                           Of of = Of::kJobs);

  /// That of the job's stage and kind. 0 for other than compute jobs in steps that count.
  Nanoseconds median(JobGraph::Id job) const { return medians_[group(job)]; }
  /// The number of its stage and kind; 0 for other than compute jobs, such as collectives.
  std::uint32_t group(JobGraph::Id job) const { return job < group_.size() ? group_[job] : 0; }
  /// The median of a group − that of a balanced run.
  Nanoseconds imbalanceOf(std::uint32_t group) const { return imbalances_[group]; }
  /// The kind's median over the stages, times the ranks that share the job's stage: a job that is
  /// like those of the other stages. 0 for other than compute jobs.
  Nanoseconds balanced(JobGraph::Id job) const {
    const JobGraph::Node& node = graph_.node(job);
    return ofKind(*node.event) * graph_.turnsOf(node.stage);
  }

 private:
  const JobGraph& graph_;
  std::vector<std::uint32_t> group_;     // by job; 0: no compute job
  std::vector<Nanoseconds> medians_;     // by group
  std::vector<Nanoseconds> imbalances_;  // by group
  Nanoseconds ofKind(const Event& event) const {
    if (event.part == kNotGiven) return ofKind_[static_cast<std::size_t>(event.kind)];
    const auto found = ofParts_.find({event.kind, event.part});
    return found == ofParts_.end() ? 0 : found->second;
  }
  std::array<Nanoseconds, kJobKindCount> ofKind_{};  // of whole jobs
  std::map<std::pair<JobKind, std::int16_t>, Nanoseconds> ofParts_;
};

/// How much the compute jobs of each rank vary in the steps that count: the mean deviation from
/// their medians, as a share of these. Ranks are those of the graph.
std::vector<double> variationByRank(const JobGraph& graph, const MedianDurations& times,
                                    const CountedSteps& counted);

}  // namespace pipetrace
