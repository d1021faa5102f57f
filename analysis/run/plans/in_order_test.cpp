#include "analysis/run/plans/in_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <utility>

namespace pipetrace {
namespace {

/// The length and the most numbers at their own place, over all ascending subsequences.
std::pair<int, int> bestBySearch(const std::vector<int>& places) {
  std::pair<int, int> best;
  for (unsigned set = 0; set < 1U << places.size(); ++set) {
    int last = -1;
    std::pair<int, int> chain;
    for (std::size_t i = 0; i < places.size(); ++i) {
      if ((set >> i & 1U) == 0) continue;
      if (places[i] <= last) chain.first = -100;
      last = places[i];
      ++chain.first;
      chain.second += places[i] == static_cast<int>(i) ? 1 : 0;
    }
    best = std::max(best, chain);
  }
  return best;
}

TEST(InOrder, LongestSubsequenceIsTheOneThatASearchThroughAllFinds) {
  std::mt19937 random(11);
  for (int round = 0; round < 300; ++round) {
    std::vector<int> places(1 + random() % 10);
    std::iota(places.begin(), places.end(), 0);
    std::shuffle(places.begin(), places.end(), random);
    const auto [length, unmoved] = bestBySearch(places);
    EXPECT_EQ(longestInOrder(places), static_cast<std::size_t>(length));
    const std::vector<bool> stays = stayInOrder(places);
    int last = -1;
    std::pair<int, int> found;
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (!stays[i]) continue;
      EXPECT_GT(places[i], last);
      last = places[i];
      ++found.first;
      found.second += places[i] == static_cast<int>(i) ? 1 : 0;
    }
    EXPECT_EQ(found, std::pair(length, unmoved));
  }
}

TEST(InOrder, TwoNumbersThatChangedPlacesAreTheOnesThatMoved) {
  EXPECT_EQ(stayInOrder(std::vector{2, 1, 0}), (std::vector{false, true, false}));
  EXPECT_EQ(stayInOrder(std::vector{0, 4, 2, 3, 1, 5}),
            (std::vector{true, false, true, true, false, true}));
  EXPECT_EQ(stayInOrder(std::vector<int>{}), std::vector<bool>{});
}

}  // namespace
}  // namespace pipetrace
