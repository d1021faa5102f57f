#pragma once

#include <string>
#include <vector>

namespace pipetrace {

/// Numbers as text: "2", "2 and 6", "0 to 3, 6 and 9". After eight parts the
/// others are counted: "0, 2, 4, 6, 8, 10, 12, 14 and 92 more". A number counts once.
std::string numbersText(const std::vector<int>& numbers);

/// Ranks as text: "rank 2", "ranks 0 to 3 and 5".
std::string ranksText(const std::vector<int>& ranks);

}  // namespace pipetrace
