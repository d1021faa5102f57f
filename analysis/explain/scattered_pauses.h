#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/explain/uneven_micro_batches.h"
#include "analysis/graph/job_graph.h"
#include "analysis/graph/usual_times.h"
#include "analysis/steps/counted_steps.h"

namespace pipetrace {

/// Pauses that ranks make at different steps, each now and then, as the garbage collector of a
/// Python program does. In a step all wait for the one that pauses. If all paused in the same step,
/// they would wait once.
///
/// A job pauses where it takes at least half as long again as usual on its stage. One that begins
/// as much later than its last input of the same step was there pauses, too. These are no pauses of
/// that kind:
/// - more than two such jobs of a rank in a step;
/// - those of a rank that has such jobs in more than half of its steps;
/// - jobs of stages on which micro-batches are of uneven length.
///
/// Pauses are scattered if at least four are left, on at least two ranks and a quarter of all. Half
/// of them must be about as long: their upper quartile is at most twice their lower one. In a step
/// with a pause, in the mean at most half of these ranks pause.
///
/// Source: Lin et al., "Understanding Stragglers in Large Model Training Using What-if Analysis",
/// 2025, section 5.4, which names such pauses and the cure.
class ScatteredPauses {
 public:
  using Id = JobGraph::Id;
  static constexpr double kLonger = 0.5;
  static constexpr std::size_t kLeastPauses = 4;

  /// `times`: of the steps that count. Uses that many threads, which makes no difference to the
  /// result.
  ScatteredPauses(const JobGraph& graph, const UsualTimes& times, const CountedSteps& counted,
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

/// "ranks 0 to 3 pause in different steps, …", a part of a sentence.
std::string toText(const ScatteredPauses& pauses);

}  // namespace pipetrace
