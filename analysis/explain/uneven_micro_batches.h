#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analysis/graph/job_graph.h"
#include "analysis/steps/counted_steps.h"

namespace pipetrace {

/// How evenly long the micro-batches of a run are. A micro-batch with more or longer sequences has
/// a longer forward and a longer backward than the others of its step, on each stage. So these two
/// correlate where lengths are uneven. Where jobs vary for other reasons they do not.
///
/// Each pair is the forward of a micro-batch and its backward, or the input half of that, on one
/// rank and in one step. Each is divided by the mean of its kind in that rank's step, so that ranks
/// and steps that are slow as a whole do not count. Jobs in parts and fused pairs are left out.
///
/// Source: Lin et al., "Understanding Stragglers in Large Model Training Using What-if Analysis",
/// 2025, section 5.3: sequence lengths are the cause where the correlation is 0.9 or more.
class UnevenMicroBatches {
 public:
  static constexpr double kCorrelated = 0.9;
  /// The standard deviation of forwards, as a share of their mean, from which on they are uneven.
  static constexpr double kVariation = 0.05;
  static constexpr std::size_t kLeastPairs = 16;

  struct Stage {
    std::size_t pairs = 0;
    double correlation = 0;  ///< Pearson's; 0 where all forwards or all backwards are alike
    double variation = 0;    ///< the standard deviation of forwards
    double longest = 0;      ///< a forward, over the mean of its step

    bool isUneven() const {
      return pairs >= kLeastPairs && correlation >= kCorrelated && variation >= kVariation;
    }
  };

  /// Over the steps that count. Uses that many threads, which makes no difference to the result.
  UnevenMicroBatches(const JobGraph& graph, const CountedSteps& counted, int threads = 1);

  /// By stage; only those with pairs.
  const std::map<std::int32_t, Stage>& stages() const { return stages_; }
  /// Whether micro-batches are of uneven length: at least half of the stages show it, and this one
  /// does.
  bool isShownBy(std::int32_t stage) const;
  /// The stages that show it, ascending; empty: micro-batches are not uneven.
  const std::vector<int>& uneven() const { return uneven_; }
  /// The least correlation of these stages, and their longest forward over the mean of its step.
  double correlation() const;
  double longest() const;

 private:
  std::map<std::int32_t, Stage> stages_;
  std::vector<int> uneven_;
};

/// "micro-batches are of uneven length: on stages 0 to 3 …", a part of a sentence.
std::string toText(const UnevenMicroBatches& lengths);

}  // namespace pipetrace
