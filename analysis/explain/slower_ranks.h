#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "analysis/graph/job_graph.h"
#include "analysis/steps/counted_steps.h"

namespace pipetrace {

/// How long the compute jobs of each rank take beside those of its peers, the other ranks of its
/// stages (replicas, tensor-parallel peers), and beside its own at other times. A step's figure is
/// the mean length of the rank's jobs of a stage over that of its peers. Several peers have the
/// median of theirs, the lower one of an even number. Over stages it is the ratio of sums.
class SlowerRanks {
 public:
  /// From this factor on a rank is slower than its peers.
  static constexpr double kSlow = 1.02;

  /// The steps in which a rank takes clearly longer than in all others (highStretchOf()).
  struct Change {
    std::int32_t first = 0;
    std::int32_t last = 0;
    bool isFirstOfRun = false;  ///< `first` is the first step that counts
    bool isLastOfRun = false;   ///< `last` is the last one
    double factor = 1;          ///< in these steps: beside its peers, else beside its other steps
    bool isBesidePeers = false;
  };

  struct Rank {
    double factor = 1;  ///< beside its peers, in the median over steps; 1 without peers
    std::vector<std::int32_t> stages;  ///< that it has peers in, ascending; empty: it has none
    std::optional<Change> change;
  };

  /// Over the steps that count. Uses that many threads, which makes no difference to the result.
  SlowerRanks(const JobGraph& graph, const CountedSteps& counted, int threads = 1);

  /// By the rank's number.
  const Rank& of(int rank) const { return ranks_.at(rank); }
  bool isSlow(int rank) const { return of(rank).factor >= kSlow || of(rank).change; }

 private:
  std::map<int, Rank> ranks_;
};

}  // namespace pipetrace
