#include "parser/foreign/pipeline_positions.h"

#include <algorithm>
#include <map>

namespace pipetrace {
void giveVirtualStages(const LanesOfRanks& lanes, Timeline& timeline) {
  std::int64_t depth = 0;
  int chunks = 1;
  std::int32_t lastMicroBatch = kNotGiven;
  std::map<int, int> positions;  // by rank
  for (const auto& [rank, events] : lanes) {
    for (const Event& event : *events) {
      depth = std::max(depth, std::int64_t{event.stage} + 1);
      chunks = std::max(chunks, event.chunk + 1);
      lastMicroBatch = std::max(lastMicroBatch, event.microBatch);
      if (event.stage != kNotGiven) positions.emplace(rank, event.stage);
    }
  }
  if (depth == 0 || depth > kMostPositions) return;
  const int positionCount = static_cast<int>(depth);
  for (const auto& [rank, events] : lanes) {
    for (Event& event : *events) {
      if (event.stage == kNotGiven) continue;
      if (event.chunk == kNotGiven && chunks == 1) event.chunk = 0;
      event.stage =
          event.chunk == kNotGiven ? kNotGiven : event.chunk * positionCount + event.stage;
    }
  }
  std::map<int, int> replicas;  // by position
  for (const auto& [rank, position] : positions) {
    RankInfo& info = timeline.ranks[rank];
    info.rank = rank;
    info.numStages = positionCount * chunks;
    info.numChunks = chunks;
    if (lastMicroBatch >= 0 && lastMicroBatch < kMostMicroBatches) {
      info.numMicroBatches = lastMicroBatch + 1;
    }
    info.dataParallelIndex = replicas[position]++;
  }
}

}  // namespace pipetrace
