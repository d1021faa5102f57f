#pragma once

#include <string>
#include <vector>

#include "schedule/action.h"

namespace pipetrace {

/// A plan: what each pipeline rank does, in order. A plain value.
struct Schedule {
  std::string name;   ///< "1F1B", "FThenB", …, or the file that it was read from
  int numStages = 0;  ///< virtual stages: ranks * chunks
  int numMicroBatches = 0;
  std::vector<std::vector<Action>> ranks;  ///< ranks[r] = the actions of rank r, in order
  std::vector<int> rankOfStage;            ///< rankOfStage[s] = the rank that runs stage s

  int numRanks() const { return static_cast<int>(ranks.size()); }
  /// The stages of a rank, ascending; their position is the chunk.
  std::vector<int> stagesOfRank(int rank) const;
  /// The index of `stage` among its rank's stages.
  int chunkOfStage(int stage) const;
  /// Stages per rank, the largest.
  int numChunks() const;
};

}  // namespace pipetrace
