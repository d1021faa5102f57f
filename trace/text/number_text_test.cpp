#include <gtest/gtest.h>
#include <cstddef>
#include <limits>

#include "trace/testing/german_locale.h"
#include "trace/text/decimal_time.h"
#include "trace/text/number_text.h"

namespace pipetrace {

namespace {

TEST(FixedText, NumbersHaveThatManyDecimals) {
  EXPECT_EQ(fixedText(1.2345, 2), "1.23");
  EXPECT_EQ(fixedText(-0.5, 0), "-0");
  EXPECT_EQ(fixedText(1e15, 1), "1000000000000000.0");
  EXPECT_EQ(fixedText(std::numeric_limits<double>::max(), 20).size(), 309U + 1 + 20);
}

using FixedTextInGerman = test::GermanLocaleTest;

TEST_F(FixedTextInGerman, NumbersHaveAPointAllTheSame) {
  EXPECT_EQ(fixedText(2.5, 1), "2.5");
  EXPECT_EQ(formatDuration(1'500'000), "1.500 ms");
  EXPECT_EQ(percentText(1, 8), "12.5 %");
}

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
