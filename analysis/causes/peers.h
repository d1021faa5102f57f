#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/run/graph/job_graph.h"
#include "analysis/run/steps/counted_steps.h"

namespace pipetrace {

/// Ranks that share stages, and why they wait for each other inside their jobs (InsideJobs), where
/// no rank is slow by itself. Empty for a run without such collectives.
class Peers {
 public:
  using Id = JobGraph::Id;

  /// Ranks whose work differs from one micro-batch to the next: each has some of the experts, or
  /// some of the tokens, and these are not spread evenly. A rank with a long forward has a long
  /// backward of that micro-batch then, beside its peers. The deviations from the mean of the group
  /// correlate by UnevenMicroBatches::kCorrelated or more, after each rank's own mean is taken off.
  struct Load {
    std::vector<int> ranks;      ///< ascending
    double correlation = 0;      ///< Pearson's
    double variation = 0;        ///< the standard deviation of forwards beside the group's mean
    std::size_t moreGroups = 0;  ///< of the run that are uneven, too; these are the most
    double busiest = 1;          ///< the longest segment over the mean of the group's, on average
  };

  /// A group whose load may be uneven in part: forwards and backwards go together by more than
  /// chance, but each also varies by itself.
  struct PossibleLoad {
    std::vector<int> ranks;  ///< ascending
    double correlation = 0;  ///< at least 0.5, and three standard errors of independent ones
  };

  /// Ranks whose collectives move slower than others of their kind and size.
  struct SlowSet {
    std::vector<int> ranks;  ///< ascending
    JobKind kind = JobKind::kAllReduce;
    GroupAxis axis = GroupAxis::kUnknown;
    Nanoseconds moving = 0;  ///< the median, from the last begin on
    Nanoseconds others = 0;  ///< the lower median of those of other groups
    double factor() const { return static_cast<double>(moving) / static_cast<double>(others); }
  };

  /// Collectives that gather and scatter weights (FSDP), and hold up jobs.
  struct Exposed {
    bool gathers = false;
    bool scatters = false;
    Nanoseconds time = 0;     ///< of all ranks in the steps that count
    Nanoseconds perStep = 0;  ///< of a rank, in the mean
    /// What the rank's compute before such a gather lasted in the median: it could have hidden the
    /// gather.
    Nanoseconds before = 0;
  };

  /// Jobs whose kernels compute longer while collectives of replicas run beside them, as both need
  /// processors and memory of the device.
  struct Contention {
    double factor = 1;        ///< how many times as long they compute
    std::int64_t jobs = 0;    ///< beside which collectives run
    Nanoseconds time = 0;     ///< what those compute longer, of all ranks in the steps that count
    Nanoseconds perStep = 0;  ///< of a rank, in the mean
    /// What they compute longer on the critical path of a step, in the mean. Found with the causes.
    Nanoseconds onPath = 0;
    std::vector<Id> beside;  ///< those jobs, ascending

    /// The part of what such a job computes that it would not without the collectives.
    double excess() const { return 1 - 1 / factor; }
  };

  /// Over the steps that count.
  Peers(const JobGraph& graph, const CountedSteps& counted, int threads = 1);

  /// Whether the load of the rank's group is uneven. Null: it is not.
  const Load* loadOf(int rank) const;
  const std::vector<Load>& loads() const { return loads_; }
  /// Of groups whose load may be uneven that with the highest correlation.
  const std::optional<PossibleLoad>& possibleLoad() const { return possibleLoad_; }
  /// The slow group that the rank is in, of several the slowest; null: it is in none.
  const SlowSet* slowSetOf(int rank) const;
  const std::vector<SlowSet>& slowSets() const { return slowSets_; }
  const std::optional<Exposed>& exposed() const { return exposed_; }
  const std::optional<Contention>& contention() const { return contention_; }

 private:
  void findLoads(const JobGraph& graph, const CountedSteps& counted, int threads);
  void findSlowSets(const JobGraph& graph);
  double slowFactorOf(const InsideJobs::Set& set) const;
  void findContention(const JobGraph& graph, const CountedSteps& counted);
  void findExposed(const JobGraph& graph, const CountedSteps& counted);

  std::vector<Load> loads_;
  std::optional<PossibleLoad> possibleLoad_;
  std::vector<SlowSet> slowSets_;  // the slowest first
  std::optional<Exposed> exposed_;
  std::optional<Contention> contention_;
};

}  // namespace pipetrace
