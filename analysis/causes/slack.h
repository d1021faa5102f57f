#pragma once

#include <array>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "analysis/run/bubbles/run_basis.h"

namespace pipetrace {

/// Finds the slack of each compute job of a step: by how much it could have ended later without
/// making the step longer, all else as it was. A step ends with its last compute or optimizer job.
/// Delays pass along lanes, data, messages and the collectives of the pipeline's own ranks. For one
/// thread.
class StepSlack {
 public:
  /// The graph must outlive it, and so must `jobs`, those of `pipeline` (an index).
  StepSlack(const JobGraph& graph, const StepJobs& jobs, std::size_t pipeline);

  /// Writes the slack of the step's jobs into `byJob`, by their ids. -1: it has no limit. So it is
  /// where no job of the step waits, as with jobs of another step in a plan without a flush.
  void find(const BubbleWindow& window, std::span<Nanoseconds> byJob);

 private:
  using Id = JobGraph::Id;

  /// Some nodes of the pipeline that are numbered one after the other.
  struct Range {
    Id first = 0;
    Id end = 0;
    std::size_t offset = 0;  // in slack_
  };

  const Range* rangeOf(Id node) const;
  void fetch(std::size_t step, std::size_t position) const;
  void collect(const BubbleWindow& window);
  Nanoseconds limit(Id node) const;
  void lower(Id node, Nanoseconds to);
  Nanoseconds slackOf(Id node) const;
  void pass(Id node);

  const JobGraph& graph_;
  const StepJobs& jobs_;
  std::array<Range, 3> ranges_;     // jobs, messages, collectives
  std::vector<Nanoseconds> slack_;  // kNsMax: not lowered yet
  std::vector<std::size_t> lowered_;
  std::vector<Id> nodes_;                           // of the step, the last to begin first
  std::vector<std::pair<Nanoseconds, Id>> begins_;  // of these
  std::int32_t step_ = 0;
  Nanoseconds end_ = 0;  // of the step
};

/// The slack of the jobs of one stage.
struct StageSlack {
  Nanoseconds least = 0;
  Nanoseconds median = 0;
};

/// By stage, over the jobs that name one. `byJob`: -1 for jobs without a number.
std::map<std::int32_t, StageSlack> slackByStage(const JobGraph& graph,
                                                std::span<const Nanoseconds> byJob);

}  // namespace pipetrace
