#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <vector>

#include "analysis/graph/job_graph.h"
#include "analysis/graph/usual_times.h"
#include "trace/timeline.h"

namespace pipetrace {

/// How much longer the jobs of each stage are than those of the others. A fused pair is a forward
/// of one stage and a backward of another: its length counts only for stages without other jobs.
class SlowerStages {
 public:
  /// All must outlive it. `times`: of the steps that it is about.
  SlowerStages(const Timeline& timeline, const JobGraph& graph, const UsualTimes& times);

  /// Sums of medians over kinds and ranks.
  struct Stage {
    double own = 0;
    double usual = 0;  ///< of the kinds' medians over stages
    std::set<int> ranks;
  };
  /// A stage without jobs in these steps has 0.
  const Stage& of(std::int32_t stage) const;
  std::size_t count() const { return stages_.size(); }
  /// The one that takes longest beside `usual`. There must be a stage.
  std::int32_t slowest() const;

  /// How many times as long stages take as others do.
  struct Factor {
    double times = 1;
    const char* others = "";  ///< "the median of stages"
    bool isKnown = false;     ///< false: the others take no time
  };
  Factor besideOthers(const std::vector<std::int32_t>& stages) const;

  /// A stage that is longer than others by less than this part of what the slowest of its rank is
  /// longer by is not slow by itself.
  static constexpr double kPartOfMost = 0.25;
  /// Those of the stages that are slow by themselves; all where none is longer than others.
  std::vector<std::int32_t> slowOnes(const std::vector<std::int32_t>& stages) const;

  /// The stage that makes a job long: of a fused pair the slower one by its other jobs, if both
  /// stages have such, else the job's own.
  std::int32_t toBlame(JobGraph::Id job) const;

 private:
  const Timeline& timeline_;
  const JobGraph& graph_;
  std::map<std::int32_t, Stage> stages_;
  std::set<std::int32_t> unfused_;  // stages that have jobs other than pairs
};

}  // namespace pipetrace
