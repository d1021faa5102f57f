#pragma once

#include <vector>

namespace pipetrace {

/// As equal numbers of blocks as possible, the larger ones first. Throws Error if there are fewer
/// blocks than stages.
std::vector<int> evenBlocks(int numBlocks, int numStages);

}  // namespace pipetrace
