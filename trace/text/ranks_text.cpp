#include "trace/text/ranks_text.h"

namespace pipetrace {

std::string ranksText(const std::vector<int>& ranks) {
  constexpr std::size_t kShown = 8;
  std::string text = ranks.size() == 1 ? "rank" : "ranks";
  // "and 1 more" is no shorter than the number of that one rank.
  const std::size_t shown = ranks.size() > kShown + 1 ? kShown : ranks.size();
  for (std::size_t i = 0; i < shown; ++i) {
    text += (i == 0 ? " " : ", ") + std::to_string(ranks[i]);
  }
  if (shown < ranks.size()) text += " and " + std::to_string(ranks.size() - shown) + " more";
  return text;
}

}  // namespace pipetrace
