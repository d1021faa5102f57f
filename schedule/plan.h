#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "schedule/action.h"
#include "trace/text/ranks_text.h"

namespace pipetrace {

/// The ranks of a pipeline's stages.
struct Placement {
  /// The ranks of each stage, in the order in which micro-batches come to them. A rank below 0: not
  /// known.
  std::vector<std::vector<int>> ranksOfStage;
  /// Where a stage has several ranks, this many micro-batches that follow each other run on the
  /// same one. 1: the ranks take turns (PipeDream's stage_to_rank_map). More: the last rank has all
  /// that are left (DualPipe).
  int run = 1;

  /// Each stage on one rank.
  static Placement ofRanks(const std::vector<int>& rankOfStage);

  std::size_t numStages() const { return ranksOfStage.size(); }
  const std::vector<int>& ranksOf(int stage) const {
    return ranksOfStage[static_cast<std::size_t>(stage)];
  }
  /// The rank that runs `stage` for `microBatch`; both in range.
  int rankOf(int stage, int microBatch) const {
    const std::vector<int>& ranks = ranksOf(stage);
    const auto n = static_cast<int>(ranks.size());
    if (n == 1) return ranks.front();
    const int turn = run == 1 ? microBatch % n : std::min(microBatch / run, n - 1);
    return ranks[static_cast<std::size_t>(turn)];
  }
  int firstRankOf(int stage) const { return ranksOf(stage).front(); }
  bool holds(int rank, int stage) const {
    const std::vector<int>& ranks = ranksOf(stage);
    return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
  }
  bool hasRank(int rank) const {
    for (int stage = 0; stage < static_cast<int>(numStages()); ++stage) {
      if (holds(rank, stage)) return true;
    }
    return false;
  }
  bool hasSeveralRanks() const {
    return std::any_of(ranksOfStage.begin(), ranksOfStage.end(),
                       [](const auto& ranks) { return ranks.size() > 1; });
  }
  /// Whether each stage has a second rank, which is as far from the other end: of the stages, or of
  /// the ranks (where these have several stages each).
  bool isBidirectional() const;

  bool operator==(const Placement& other) const {
    return ranksOfStage == other.ranksOfStage && (!hasSeveralRanks() || run == other.run);
  }
};

/// ranksOfStageFrom() of the option --stage-ranks. Throws Error that says what it takes.
std::vector<std::vector<int>> stageRanksOption(std::string_view text);

/// "2,1": a number for each stage.
std::string toText(const std::vector<int>& ofStage);
/// The reverse, of the option --stage-depths. Throws Error that says what it takes.
std::vector<int> stageDepthsOption(std::string_view text);

/// When a plan's weights change.
struct WeightUpdates {
  /// By stage: its weights change after the backward passes of this many micro-batches of each
  /// replica, without a flush (an asynchronous plan). A stage on several ranks takes as many from
  /// each, so it is a multiple of their number; in PipeDream it is their number. A last update with
  /// fewer uses what there is. Empty: once, after all of them.
  std::vector<int> every = {};
  /// Micro-batches of group g (g = microBatch / every) use the weights as group g - 2 left them, so
  /// that two versions are enough (PipeDream-2BW). Else each forward takes the newest weights there
  /// are, and its backward the same (PipeDream's weight stashing).
  bool doubleBuffered = false;

  /// All stages after as many.
  static WeightUpdates alike(int numStages, int every, bool doubleBuffered = false) {
    return {std::vector<int>(static_cast<std::size_t>(numStages), every), doubleBuffered};
  }
  int everyOf(int stage) const { return every[static_cast<std::size_t>(stage)]; }
  /// The number that all stages have; 0: they differ, or there is none.
  int ofAllStages() const {
    const bool areAlike =
        std::adjacent_find(every.begin(), every.end(), std::not_equal_to<>()) == every.end();
    return areAlike && !every.empty() ? every.front() : 0;
  }

  bool operator==(const WeightUpdates&) const = default;
};

/// The result of a schedule for a number of ranks and micro-batches: the actions of each pipeline
/// rank, in order. A plain value, not checked (CheckedPlan).
///
/// With replicas (even data parallelism) it has as many equal pipelines, one after the other.
/// Replica d has the ranks from d * ranksOfReplica() on and the micro-batches from
/// d * microBatchesOfReplica() on.
struct Plan {
  std::string name;   ///< "1F1B", "FThenB", …, or the file that it was read from
  int numStages = 0;  ///< virtual stages: ranks * chunks, whose chunks are those of one direction
  int numMicroBatches = 0;                 ///< of all replicas
  std::vector<std::vector<Action>> ranks;  ///< ranks[r] = the actions of rank r, in order
  /// Where stages run in the first replica. A stage on several ranks has its weights on each.
  Placement placement = {};
  int replicas = 1;
  WeightUpdates updates = {};
  /// The most forward messages of a channel that are sent and not acknowledged yet. They hold a
  /// fast rank back. A channel is all messages from one rank to one other. 0: any number.
  ///
  /// A receiver acknowledges a forward message when the action that needs it has ended, a forward
  /// or a fused pair. The acknowledgement takes the way back to the sender. A rank waits at the
  /// send of a forward message until fewer than `credits` of its channel are not acknowledged. It
  /// does nothing else until then. In a plan without sends, it waits at the end of the action that
  /// makes the message. The count goes on from step to step. Gradients take no credits.
  ///
  /// Source: run_ack() after run_forward() in validate(), PipeDream's runtime (Narayanan et al.
  /// 2019). There every stage passes the acknowledgements of the last one on; here each is of the
  /// next rank alone.
  int credits = 0;

  int numRanks() const { return static_cast<int>(ranks.size()); }
  int ranksOfReplica() const { return numRanks() / replicas; }
  int microBatchesOfReplica() const { return numMicroBatches / replicas; }
  int replicaOf(int rank) const { return replicas == 1 ? 0 : rank / ranksOfReplica(); }
  /// The number of a micro-batch within its replica; those below 0 stay.
  int numberInReplica(int microBatch) const {
    return replicas == 1 || microBatch < 0 ? microBatch : microBatch % microBatchesOfReplica();
  }
  /// The action with the numbers of its replica, as logs name it.
  Action inReplica(Action action) const {
    action.microBatch = numberInReplica(action.microBatch);
    action.backwardMicroBatch = numberInReplica(action.backwardMicroBatch);
    return action;
  }
  /// Whether weights change without a flush.
  bool isAsynchronous() const { return !updates.every.empty(); }
  bool isBidirectional() const { return placement.isBidirectional(); }
  /// The rank that runs `stage` for `microBatch`; both in range.
  int rankOf(int stage, int microBatch) const {
    if (replicas == 1) return placement.rankOf(stage, microBatch);
    const int size = microBatchesOfReplica();
    const int replica = std::min(microBatch / std::max(size, 1), replicas - 1);
    return placement.rankOf(stage, microBatch - replica * size) + replica * ranksOfReplica();
  }
  /// The ranks that have the stage's weights, those of all replicas, ascending. In that order their
  /// gradients are added.
  std::vector<int> ranksOf(int stage) const;
  /// The rank of a replica that has the last stage; the first of several.
  int lastRankOf(int replica) const {
    return placement.firstRankOf(numStages - 1) + replica * ranksOfReplica();
  }
  /// The stages of a rank, ascending; their position is the chunk.
  std::vector<int> stagesOfRank(int rank) const;
  /// stagesOfRank() of all ranks, in one go.
  std::vector<std::vector<int>> stagesByRank() const;
  /// The index of `stage` among the stages of its first rank. Linear in the stages; stagesByRank()
  /// is faster for all of them.
  int chunkOfStage(int stage) const;
  /// The number of stages of the rank that has most.
  int numChunks() const;
  /// The same of one direction: of a bidirectional plan half of its stages.
  int chunksOfDirection() const;
  /// Whether it has no backward pass at all, nor a half of one (evaluation, inference). Looks at
  /// actions up to the first backward pass.
  bool isForwardOnly() const;
  /// Whether it has an action of such a kind: hasAny(isTransfer).
  bool hasAny(bool (*isSuch)(JobKind kind)) const;
  /// Whether stages that follow each other are on different ranks, for any micro-batch.
  bool hasMessages() const;
  /// Whether it runs any forward again before its backward.
  bool hasRecomputes() const;
};

}  // namespace pipetrace
