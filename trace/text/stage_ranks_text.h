#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pipetrace {

/// "0,1/2": stage 0 on ranks 0 and 1, stage 1 on rank 2.
std::string toText(const std::vector<std::vector<int>>& ranksOfStage);
/// The reverse. Empty: the text is none such.
std::vector<std::vector<int>> ranksOfStageFrom(std::string_view text);

}  // namespace pipetrace
