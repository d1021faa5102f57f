#include "trace/text/stage_ranks_text.h"

#include <charconv>

namespace pipetrace {

std::string toText(const std::vector<std::vector<int>>& ranksOfStage) {
  std::string text;
  for (const std::vector<int>& ranks : ranksOfStage) {
    if (!text.empty()) text += '/';
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      text += (i == 0 ? "" : ",") + std::to_string(ranks[i]);
    }
  }
  return text;
}

std::vector<std::vector<int>> ranksOfStageFrom(std::string_view text) {
  std::vector<std::vector<int>> stages(1);
  const char* at = text.data();
  const char* const end = at + text.size();
  while (true) {
    int rank = -1;
    const auto [next, error] = std::from_chars(at, end, rank);
    if (error != std::errc() || rank < 0) return {};
    stages.back().push_back(rank);
    if (next == end) return stages;
    if (*next == '/') stages.emplace_back();
    if (*next != '/' && *next != ',') return {};
    at = next + 1;
  }
}

}  // namespace pipetrace
