#pragma once

#include <utility>
#include <vector>

#include "trace/timeline.h"

namespace pipetrace {

/// Lanes of events by rank.
using LanesOfRanks = std::vector<std::pair<int, std::vector<Event>*>>;

/// For traces whose events have the position of their rank in the pipeline as their stage: makes it
/// the virtual stage, chunk × positions + position, and says in the RankInfo of those ranks how
/// many stages, chunks and micro-batches there are, and which replica of the pipeline each is (of
/// the ranks of one position in their order, where there are several).
void giveVirtualStages(const LanesOfRanks& lanes, Timeline& timeline);

}  // namespace pipetrace
