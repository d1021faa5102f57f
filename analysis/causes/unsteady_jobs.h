#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "analysis/run/graph/job_graph.h"
#include "analysis/run/graph/median_durations.h"
#include "analysis/run/steps/counted_steps.h"

namespace pipetrace {

/// How evenly long the micro-batches of a run are. A micro-batch with more or longer sequences has
/// a longer forward and a longer backward than the others of its step, on each stage. So these two
/// correlate where lengths are uneven. Where jobs vary for other reasons they do not.
///
/// Each pair is the forward of a micro-batch and its backward, or the input half of that, on one
/// rank and in one step. Each is divided by the mean of its kind in that rank's step, so that ranks
/// and steps that are slow as a whole do not count. Jobs in parts and fused pairs are left out.
///
/// Jobs may vary so much by themselves that no stage shows it. With kLeastStages or more the means
/// of each micro-batch over the stages of its pipeline are compared then: what jobs vary by
/// themselves is less in them, and what their micro-batch is long is not.
///
/// Source: Lin et al., "Understanding Stragglers in Large Model Training Using What-if Analysis",
/// 2025, section 5.3: sequence lengths are the cause where the correlation is 0.9 or more.
class UnevenMicroBatches {
 public:
  static constexpr double kCorrelated = 0.9;
  /// Where half of the stages show it, those with at least this correlation are concerned, too:
  /// their jobs vary more by themselves.
  static constexpr double kRelated = 0.5;
  /// The standard deviation of forwards, as a share of their mean, from which on they are uneven.
  static constexpr double kVariation = 0.05;
  static constexpr std::size_t kLeastPairs = 12;
  static constexpr std::size_t kLeastStages = 3;

  struct Stage {
    std::size_t pairs = 0;
    double correlation = 0;  ///< Pearson's; 0 where all forwards or all backwards are alike
    double variation = 0;    ///< the standard deviation of forwards
    double longest = 0;      ///< a forward, over the mean of its step

    bool isUneven(double least = kCorrelated) const {
      return pairs >= kLeastPairs && correlation >= least && variation >= kVariation;
    }
  };

  /// Over the steps that count. Uses that many threads, which makes no difference to the result.
  UnevenMicroBatches(const JobGraph& graph, const CountedSteps& counted, int threads = 1);

  /// By stage; only those with pairs.
  const std::map<std::int32_t, Stage>& stages() const { return stages_; }
  /// Whether micro-batches are of uneven length, as at least half of the stages show, and this one
  /// is concerned.
  bool isShownBy(std::int32_t stage) const;
  /// The stages that are concerned, ascending; empty: micro-batches are not uneven.
  const std::vector<int>& uneven() const { return uneven_; }
  /// The least correlation of these stages, or that of means over stages; and their longest forward
  /// over the mean of its step.
  double correlation() const;
  double longest() const;

 private:
  std::map<std::int32_t, Stage> stages_;
  std::vector<int> uneven_;
  std::optional<Stage> ofMeans_;
};

/// Pauses that ranks make at different steps, each now and then, as the garbage collector of a
/// Python program does. In a step all wait for the one that pauses. If all paused in the same step,
/// they would wait once.
///
/// A job pauses where it takes at least half as long again as usual on its stage. One that begins
/// as much later than its last input of the same step was there pauses, too. These are no pauses of
/// that kind:
/// - more than two such jobs of a rank in a step;
/// - those of a rank that has such jobs in more than two thirds of its steps;
/// - long jobs of stages on which micro-batches are of uneven length; where ranks meet inside jobs,
///   late ones, too.
///
/// Pauses are scattered if at least four are left on two ranks, or three on more, and on a quarter
/// of all. Half of them must be about as long: their upper quartile is at most twice their lower
/// one. In a step with a pause, in the mean at most three quarters of these ranks pause.
///
/// Source: Lin et al., "Understanding Stragglers in Large Model Training Using What-if Analysis",
/// 2025, section 5.4, which names such pauses and the cure.
class ScatteredPauses {
 public:
  using Id = JobGraph::Id;
  static constexpr double kLonger = 0.5;
  static constexpr std::size_t kLeastPauses = 3;
  static constexpr std::size_t kLeastPausesOfTwo = 4;  ///< where there are no more ranks

  /// `times`: of the steps that count. Uses that many threads, which makes no difference to the
  /// result.
  ScatteredPauses(const JobGraph& graph, const MedianDurations& times, const CountedSteps& counted,
                  const UnevenMicroBatches& lengths, int threads = 1);

  /// The jobs that pause, ascending; empty: pauses are not scattered.
  const std::vector<Id>& jobs() const { return jobs_; }
  bool contains(Id job) const;
  /// The numbers of the ranks, ascending.
  const std::vector<int>& ranks() const { return ranks_; }
  std::size_t steps() const { return steps_; }    ///< in which any of them pauses
  std::size_t count() const { return count_; }    ///< ranks that pause, over all steps
  Nanoseconds median() const { return median_; }  ///< of a pause: how much longer, or later

 private:
  ScatteredPauses() = default;

  std::vector<Id> jobs_;
  std::vector<int> ranks_;
  std::size_t steps_ = 0;
  std::size_t count_ = 0;
  Nanoseconds median_ = 0;
};

}  // namespace pipetrace
