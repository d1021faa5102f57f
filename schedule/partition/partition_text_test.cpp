#include "schedule/partition/partition_file.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace pipetrace {
namespace {

TEST(PartitionTextTest, ARatioGivesItsCountBack) {
  for (int blocks = 1; blocks <= 300; ++blocks) {
    for (int count = 0; count <= blocks; ++count) {
      const std::string text = recomputeRatio(count, blocks);
      const double ratio = std::strtod(text.c_str(), nullptr);
      ASSERT_EQ(static_cast<int>(ratio * blocks), count) << text << " of " << blocks;
      ASSERT_GE(ratio, 0);
      ASSERT_LE(ratio, 1);
      ASSERT_LE(text.size(), 6U) << text;
      ASSERT_EQ(recomputeRatioNumber(count, blocks), ratio);
    }
  }
}

TEST(PartitionTextTest, RatiosHaveFewDigits) {
  EXPECT_EQ(recomputeRatio(0, 12), "0");
  EXPECT_EQ(recomputeRatio(12, 12), "1");
  EXPECT_EQ(recomputeRatio(3, 12), "0.3");  // int(3.6)
  EXPECT_EQ(recomputeRatio(1, 3), "0.4");
  EXPECT_EQ(recomputeRatio(1, 40), "0.03");
}

TEST(PartitionTextTest, ThePartitionIsAFileOfTrainings) {
  const BlockPartition partition{.blocks = {12, 13, 13, 11}, .recomputed = {3, 0, 0, 11}};
  EXPECT_EQ(partitionFile(partition),
            "{\"partition\": [12, 13, 13, 11], \"recompute_ratio\": [0.3, 0, 0, 1]}\n");
  EXPECT_EQ(partitionFile({.blocks = {2, 1}, .recomputed = {}}, "me"),
            "{\"partition\": [2, 1], \"recompute_ratio\": [0, 0], \"made_by\": \"me\"}\n");
}

}  // namespace
}  // namespace pipetrace
