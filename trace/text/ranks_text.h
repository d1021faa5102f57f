#pragma once

#include <string>
#include <vector>

namespace pipetrace {

/// Ranks as text: "rank 0", "ranks 0, 1, 5". Many are cut short: "ranks 0, 1, 2, 3, 4, 5, 6, 7 and
/// 92 more".
std::string ranksText(const std::vector<int>& ranks);

}  // namespace pipetrace
