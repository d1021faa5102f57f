#include "trace/text/ranks_text.h"

#include <algorithm>
#include <charconv>
#include <set>

namespace pipetrace {

std::string numbersText(const std::vector<int>& list) {
  std::vector<int> numbers;
  std::set<int> known;
  for (const int number : list) {
    if (known.insert(number).second) numbers.push_back(number);
  }
  constexpr std::size_t kMost = 8;
  std::string text;
  std::size_t parts = 0;
  for (std::size_t at = 0; at < numbers.size();) {
    const std::size_t left = numbers.size() - at;
    // "and 1 more" is no shorter than that one number.
    if (parts >= kMost && left > 1) return text + " and " + std::to_string(left) + " more";
    std::size_t last = at;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    const bool isRange = last - at >= 2;
    if (!isRange) last = at;
    text += ++parts == 1 ? "" : last + 1 == numbers.size() ? " and " : ", ";
    text += std::to_string(numbers[at]);
    if (isRange) text += " to " + std::to_string(numbers[last]);
    at = last + 1;
  }
  return text;
}

std::string ranksText(const std::vector<int>& ranks) {
  const bool isOne =
      std::all_of(ranks.begin(), ranks.end(), [&](int rank) { return rank == ranks.front(); });
  return (isOne && !ranks.empty() ? "rank " : "ranks ") + numbersText(ranks);
}

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
