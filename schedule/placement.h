#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

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

}  // namespace pipetrace
