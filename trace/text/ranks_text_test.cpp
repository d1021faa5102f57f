#include "trace/text/ranks_text.h"

#include <gtest/gtest.h>

namespace pipetrace {
namespace {

TEST(RanksText, OneRankAndSeveralAreNamed) {
  EXPECT_EQ(ranksText({4}), "rank 4");
  EXPECT_EQ(ranksText({4, 5}), "ranks 4 and 5");
  EXPECT_EQ(ranksText({4, 6, 9}), "ranks 4, 6 and 9");
}

TEST(RanksText, ThreeOrMoreInARowAreARange) {
  EXPECT_EQ(numbersText({0, 1, 2}), "0 to 2");
  EXPECT_EQ(numbersText({0, 1, 2, 3, 6, 9}), "0 to 3, 6 and 9");
  EXPECT_EQ(numbersText({0, 1, 3, 4, 5}), "0, 1 and 3 to 5");
}

TEST(RanksText, OtherOrdersStayAsTheyAre) { EXPECT_EQ(numbersText({3, 2, 1}), "3, 2 and 1"); }

TEST(RanksText, NumberCountsOnce) {
  EXPECT_EQ(ranksText({0, 0, 0, 1, 1}), "ranks 0 and 1");
  EXPECT_EQ(ranksText({3, 3}), "rank 3");
  EXPECT_EQ(numbersText({0, 0, 0, 0, 0, 0, 1, 1, 2, 2, 3, 3}), "0 to 3");
}

TEST(RanksText, NumbersAfterEightPartsAreCounted) {
  std::vector<int> numbers;
  for (int number = 0; number < 200; number += 2) numbers.push_back(number);
  EXPECT_EQ(numbersText(numbers), "0, 2, 4, 6, 8, 10, 12, 14 and 92 more");
  numbers.resize(9);
  EXPECT_EQ(numbersText(numbers), "0, 2, 4, 6, 8, 10, 12, 14 and 16");
  numbers.resize(8);
  EXPECT_EQ(numbersText(numbers), "0, 2, 4, 6, 8, 10, 12 and 14");
}

}  // namespace
}  // namespace pipetrace
