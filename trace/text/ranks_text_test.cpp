#include "trace/text/ranks_text.h"

#include <gtest/gtest.h>

namespace pipetrace {
namespace {

TEST(RanksText, ManyRanksAreCutShort) {
  std::vector<int> ranks;
  for (int rank = 0; rank < 100; ++rank) ranks.push_back(rank);
  EXPECT_EQ(ranksText(ranks), "ranks 0, 1, 2, 3, 4, 5, 6, 7 and 92 more");
  ranks.resize(9);
  EXPECT_EQ(ranksText(ranks), "ranks 0, 1, 2, 3, 4, 5, 6, 7, 8");
  EXPECT_EQ(ranksText({4}), "rank 4");
}

}  // namespace
}  // namespace pipetrace
