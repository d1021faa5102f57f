#include "parser/pipeline_positions.h"

#include <algorithm>
#include <map>

namespace pipetrace {
namespace {

/// More are taken for nonsense; times the chunks they have to fit an int.
constexpr int kMostPositions = 65'536;

}  // namespace

void giveVirtualStages(const LanesOfRanks& lanes, Timeline& timeline) {
  int depth = 0;
  int chunks = 1;
  int microBatches = 0;
  std::map<int, int> positions;  // by rank
  for (const auto& [rank, events] : lanes) {
    for (const Event& event : *events) {
      depth = std::max(depth, event.stage + 1);
      chunks = std::max(chunks, event.chunk + 1);
      microBatches = std::max(microBatches, event.microBatch + 1);
      if (event.stage != kNotGiven) positions.emplace(rank, event.stage);
    }
  }
  if (depth == 0 || depth > kMostPositions) return;
  for (const auto& [rank, events] : lanes) {
    for (Event& event : *events) {
      if (event.stage == kNotGiven) continue;
      if (event.chunk == kNotGiven && chunks == 1) event.chunk = 0;
      event.stage = event.chunk == kNotGiven ? kNotGiven : event.chunk * depth + event.stage;
    }
  }
  std::map<int, int> replicas;  // by position
  for (const auto& [rank, position] : positions) {
    RankInfo& info = timeline.ranks[rank];
    info.rank = rank;
    info.numStages = depth * chunks;
    info.numChunks = chunks;
    if (microBatches > 0) info.numMicroBatches = microBatches;
    info.dataParallelIndex = replicas[position]++;
  }
}

}  // namespace pipetrace
