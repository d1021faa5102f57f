#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "analysis/rerun/run_network.h"

namespace pipetrace {

/// Up to 8 what-ifs that are computed at once. In each, some operations are as long as measured,
/// all others as long as ideal. Bit i of a mask stands for what-if i.
struct WhatIfs {
  static constexpr std::size_t kMost = 8;

  std::vector<std::uint8_t> byRank;   ///< by index in graph.ranks()
  std::vector<std::uint8_t> byStage;  ///< by index in RunWork::stages(); the last is for no stage
  std::vector<std::uint8_t> bySet;    ///< of kinds
  std::uint8_t inverted = 0;          ///< in these it is the other operations that are as measured

  WhatIfs(std::size_t ranks, std::size_t stages, std::size_t sets)
      : byRank(ranks), byStage(stages + 1), bySet(sets) {}

  std::uint8_t measuredIn(const RunNetwork::Operation& work) const {
    return static_cast<std::uint8_t>((byRank[work.rank] | byStage[work.stage] | bySet[work.set]) ^
                                     inverted);
  }
};

/// Runs a step in several what-ifs: all ranks start at 0, each work begins as soon as it can.
class WhatIfTimes {
 public:
  using Lengths = std::array<double, WhatIfs::kMost>;

  explicit WhatIfTimes(const RunNetwork& order) : order_(order), times_(order) {}

  /// The lengths of the step, ns.
  Lengths run(const WhatIfs& whatIfs);

  /// The lengths of the step with one replica as measured and all others ideal, for each replica.
  /// Comes after a run() whose what-ifs 0 and 1 are everything measured and nothing. `replicaOf`:
  /// the replica of each rank, numbered from 0 to `replicas` − 1.
  ///
  /// Most operations depend on their own replica only and are as in one of these two. Those that
  /// wait for other replicas are the only ones to compute.
  std::vector<double> lengthsByReplica(std::span<const std::uint32_t> replicaOf,
                                       std::size_t replicas) const;

 private:
  static constexpr std::size_t kReplicasAtOnce = 128;  // so that memory is bounded
  using Times = RunTimes<WhatIfs::kMost>;

  std::vector<double> lengthsOfReplicas(std::span<const std::uint32_t> replicaOf, std::size_t first,
                                        std::size_t count) const;

  const RunNetwork& order_;
  Times times_;
};

}  // namespace pipetrace
