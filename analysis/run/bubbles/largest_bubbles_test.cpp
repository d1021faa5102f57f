#include "analysis/run/bubbles/bubbles.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <tuple>
#include <vector>

namespace pipetrace {
namespace {

using Row = std::tuple<Nanoseconds, std::uint32_t, Nanoseconds>;  // −length, rank, begin

std::vector<Row> rowsOf(const std::vector<BubbleOfRank>& list) {
  std::vector<Row> rows;
  for (const auto& [rank, bubble] : list) {
    rows.emplace_back(bubble->begin - bubble->end, rank, bubble->begin);
  }
  return rows;
}

TEST(LargestBubbles, AreThoseThatSortingAllGives) {
  std::mt19937 random(7);
  std::uniform_int_distribution<Nanoseconds> length(1, 40);  // many are equally long
  for (const std::size_t count : {0U, 1U, 9U, 10U, 11U, 19U, 20U, 21U, 400U}) {
    Bubbles bubbles;
    std::vector<Row> all;
    bubbles.byRank.resize(3);
    for (std::size_t i = 0; i < count; ++i) {
      const auto rank = static_cast<std::uint32_t>(i % 3);
      const auto begin = static_cast<Nanoseconds>(100 * i);
      const Nanoseconds end = begin + length(random);
      bubbles.byRank[rank].push_back({begin, end});
      all.emplace_back(begin - end, rank, begin);
    }
    std::sort(all.begin(), all.end());
    all.resize(std::min<std::size_t>(10, count));
    EXPECT_EQ(rowsOf(largestBubbles(bubbles, 10)), all) << count << " bubbles";
    EXPECT_TRUE(largestBubbles(bubbles, 0).empty());
  }
}

}  // namespace
}  // namespace pipetrace
