#include "trace/text/count_text.h"

#include <gtest/gtest.h>

#include <cstddef>

namespace pipetrace {
namespace {

TEST(CountText, OnlyOneIsSingular) {
  EXPECT_EQ(countText(0, "rank"), "0 ranks");
  EXPECT_EQ(countText(1, "rank"), "1 rank");
  EXPECT_EQ(countText(std::size_t{2}, "more step"), "2 more steps");
  EXPECT_EQ(countText(-1, "step"), "-1 steps");
}

TEST(CountText, OtherPluralsAreGiven) {
  EXPECT_EQ(countText(1, "micro-batch", "micro-batches"), "1 micro-batch");
  EXPECT_EQ(countText(8, "micro-batch", "micro-batches"), "8 micro-batches");
  EXPECT_EQ(countText(2, "rank has", "ranks have"), "2 ranks have");
}

}  // namespace
}  // namespace pipetrace
