#pragma once

#include <cstdint>
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
///
/// Such traces do not say how many positions there are. Those behind the last one that has events
/// are known by what it waits for: how many forwards it runs before its first backward, and by
/// how much later that begins.
void giveVirtualStages(const LanesOfRanks& lanes, Timeline& timeline);

}  // namespace pipetrace
