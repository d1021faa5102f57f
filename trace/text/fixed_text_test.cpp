#include "trace/text/fixed_text.h"

#include <gtest/gtest.h>

#include <limits>

#include "trace/testing/german_locale.h"
#include "trace/text/decimal_time.h"

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

}  // namespace
}  // namespace pipetrace
