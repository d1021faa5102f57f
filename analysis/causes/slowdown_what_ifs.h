#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "analysis/run/waits/run_network.h"

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

  explicit WhatIfTimes(const RunNetwork& network) : network_(network), times_(network) {}

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

  const RunNetwork& network_;
  Times times_;
};

/// Runs a step in many what-ifs. In each, the operations of one set are as long as measured, and
/// all others as long as ideal. Sets have no work in common: they are stages or positions, of which
/// a run may have thousands. All ranks start at 0, and each work begins as soon as it can.
///
/// The step is run once with all operations ideal. A what-if keeps its differences from that: how
/// much later a work ends. Something that an operation waits for delays it by its own delay, less
/// its slack: how long before the work's ideal begin it ideally ends. A pass computes kAtOnce
/// what-ifs. A difference is a number of single precision, which is 10⁻⁷ of it exact. It is kept
/// until the last work that waits for it has begun, so memory is that of the operations in between.
///
/// Times are in ns. For one thread; the network may go after the constructor.
class SetTimes {
 public:
  static constexpr std::size_t kAtOnce = 128;
  using SetOf = std::function<std::size_t(const RunNetwork::Operation&)>;

  /// The sets are numbered from 0 to `sets` − 1. `setOf(work)`: the set of an operation or a
  /// message. With a higher number it is ideal in all what-ifs.
  SetTimes(const RunNetwork& network, std::size_t sets, const SetOf& setOf);

  /// The length of the step in the what-if of each set.
  std::vector<double> lengths();

 private:
  using Index = std::uint32_t;
  static constexpr Index kNone = RunNetwork::kNone;
  static constexpr Index kStart = 0;  // the place of the step's begin, which is never late

  struct Duration {
    std::size_t set = 0;
    float more = 0;  // measured − ideal
  };
  /// Something that a group waits for, with a message or without.
  struct Input {
    Index place = kStart;
    Index message = kNone;  // in messages_
    float slack = 0;
  };
  struct Member {
    Duration duration;
    Index place = kStart;
    float slack = 0;      // to the end of the step
    bool isLast = false;  // of its rank
  };
  /// Operations that begin together. They end where the next group begins.
  struct Group {
    Index input = 0;   // the first
    Index member = 0;  // the first
  };
  using Four = float __attribute__((vector_size(16)));
  struct Row {
    Four delays[kAtOnce / 4];
    float at(std::size_t i) const { return delays[i / 4][i % 4]; }
    void set(std::size_t i, float delay) { delays[i / 4][i % 4] = delay; }
  };
  class Places;

  void addGroup(const RunNetwork& network, const WaitNetwork::Group& group, const SetOf& setOf,
                Places& places);
  bool isInPass(std::size_t set) const { return set >= first_ && set - first_ < kAtOnce; }
  void run();
  void runGroup(const Group& group, const Group& next);
  void runAll(const Group& group, const Group& next, float least);
  void runOne(const Group& group, const Group& next, std::size_t set);
  void takeLength(const Member& member);

  std::size_t sets_;
  double ideal_ = 0;  // the length of the step
  std::vector<Duration> messages_;
  std::vector<Input> inputs_;
  std::vector<Member> members_;
  std::vector<Group> groups_;         // and one where the last of them ends
  std::vector<double> endsOfInputs_;  // of a group, while it is added

  // A pass has these.
  std::size_t first_ = 0;     // the set of its first what-if
  std::vector<Row> delays_;   // by place
  std::vector<char> isLate_;  // by place; false: it ends as in the ideal in all of them
  Row longer_{};              // the step
  struct Late {
    const Row* row = nullptr;
    float slack = 0;
  };
  std::vector<Late> late_;  // of the inputs of a group
};

}  // namespace pipetrace
