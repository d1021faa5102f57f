#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "analysis/bubbles/bubbles.h"
#include "analysis/steps/counted_steps.h"

namespace pipetrace {

/// A bubble and its rank, an index in JobGraph::ranks(). It points into Bubbles.
using BubbleOfRank = std::pair<std::uint32_t, const Bubble*>;

/// How many of them reports show.
inline constexpr std::size_t kBubblesShown = 50;

/// The longest bubbles of all ranks in the steps that count, at most `most`, the longest first.
/// Those of equal length are in the order of ranks, then of begins.
std::vector<BubbleOfRank> largestBubbles(const Bubbles& bubbles, std::size_t most,
                                         const CountedSteps& counted = {});

}  // namespace pipetrace
