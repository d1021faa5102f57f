#pragma once

#include <optional>
#include <string>
#include <vector>

#include "trace/step_windows.h"
#include "trace/timeline.h"
#include "trace/topology.h"

namespace pipetrace {

/// Where a rank stands in its run, as far as the run knows.
struct RankShape {
  int rank = 0;
  std::string host;         ///< empty: not known
  int replica = 0;          ///< the number of its pipeline, as in Topology
  std::vector<int> stages;  ///< of its compute jobs, ascending
  /// Where ranks of its pipeline share the micro-batches of its stage: whose turn is its own, from
  /// 0, and of how many. Else of one.
  int turn = 0;
  int turns = 1;
};

/// The ranks of a run, ascending: those that have a track or a counter.
struct RunShape {
  std::vector<RankShape> ranks;
  int tensorRanks = 1;  ///< as in Topology
  /// Whose steps last longest in sum. Where gradients are added up, replicas end together: of those
  /// within a hundredth of the longest, the one whose ranks work most; of several the first.
  std::optional<int> slowestReplica;
};

/// `windows`: stepWindows() of both.
RunShape runShapeOf(const Timeline& timeline, const Topology& topology,
                    const std::vector<StepWindow>& windows);

/// "stage 2", "stages 0, 4", "stages 0 … 7"; empty for none. Ascending.
std::string stagesText(const std::vector<int>& stages);

}  // namespace pipetrace
