#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pipetrace {

/// Numbers as text: "2", "2 and 6", "0 to 3, 6 and 9". After eight parts the
/// others are counted: "0, 2, 4, 6, 8, 10, 12, 14 and 92 more". A number counts once.
std::string numbersText(const std::vector<int>& numbers);

/// Ranks as text: "rank 2", "ranks 0 to 3 and 5".
std::string ranksText(const std::vector<int>& ranks);

/// "0,1/2": stage 0 on ranks 0 and 1, stage 1 on rank 2.
std::string toText(const std::vector<std::vector<int>>& ranksOfStage);
/// The reverse. Empty: the text is none such.
std::vector<std::vector<int>> ranksOfStageFrom(std::string_view text);

}  // namespace pipetrace
