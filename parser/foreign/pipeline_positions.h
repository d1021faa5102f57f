#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "trace/timeline.h"

namespace pipetrace {

/// Higher positions and micro-batches are taken for nonsense: times the chunks they have to fit an
/// int.
inline constexpr std::int64_t kMostPositions = 32'768;
inline constexpr std::int32_t kMostMicroBatches = 1'000'000'000;

/// Lanes of events, by rank.
using LanesOfRanks = std::vector<std::pair<int, std::vector<Event>*>>;

/// For traces whose events have the position of their rank in the pipeline as their stage: makes it
/// the virtual stage, chunk × positions + position. Sets in the RankInfo of those ranks how many
/// stages, chunks and micro-batches there are, and the replica of the pipeline, unless it has one.
/// Ranks of one position are numbered as replicas in their order, where there are several. Where
/// numbers of ranks go along the pipelines, they say the replicas, also where ranks are missing.
inline void giveVirtualStages(const LanesOfRanks& lanes, Timeline& timeline) {
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
  const bool areInARow = std::all_of(positions.begin(), positions.end(), [&](const auto& each) {
    return each.first % positionCount == each.second;
  });
  std::map<int, int> replicas;  // by position
  for (const auto& [rank, position] : positions) {
    RankInfo& info = timeline.ranks[rank];
    info.rank = rank;
    info.numStages = positionCount * chunks;
    info.numChunks = chunks;
    if (lastMicroBatch >= 0 && lastMicroBatch < kMostMicroBatches) {
      info.numMicroBatches = lastMicroBatch + 1;
    }
    const int next = areInARow ? rank / positionCount : replicas[position]++;
    if (!info.dataParallelIndex) info.dataParallelIndex = next;
  }
}

}  // namespace pipetrace
