#include "chart/statistics/statistics_line.h"

#include <algorithm>

#include "chart/text/bubble_text.h"

namespace pipetrace {

std::optional<std::int32_t> lineOf(StatisticsBy by, std::uint64_t key, int rank) {
  const auto kind = static_cast<JobKind>(key >> 40U & 0xFFU);
  const bool isBubble = kind == JobKind::kBubble;
  switch (by) {
    case StatisticsBy::kKind: return static_cast<std::int32_t>(kind);
    case StatisticsBy::kStage:
      if (isBubble) return std::nullopt;
      return std::max(static_cast<std::int32_t>(key & 0xFFFFFFFFU), kNotGiven);
    case StatisticsBy::kRank:
      if (isBubble) return std::nullopt;
      return rank;
    case StatisticsBy::kBubbleClass:
      if (!isBubble) return std::nullopt;
      return static_cast<std::int32_t>(key >> 32U & 0xFFU);
  }
  return std::nullopt;
}

std::string lineName(StatisticsBy by, std::int32_t line) {
  switch (by) {
    case StatisticsBy::kKind: {
      std::string name(logName(static_cast<JobKind>(line)));
      std::replace(name.begin(), name.end(), '_', ' ');
      return name;
    }
    case StatisticsBy::kStage:
      return line == kNotGiven ? "no stage" : "stage " + std::to_string(line);
    case StatisticsBy::kRank: return "rank " + std::to_string(line);
    case StatisticsBy::kBubbleClass: {
      const auto bubbleClass = static_cast<BubbleClass>(line);
      return bubbleClass == BubbleClass::kNone ? "no class" : bubbleClassWords(bubbleClass);
    }
  }
  return {};
}

}  // namespace pipetrace
