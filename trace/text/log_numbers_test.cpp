#include "trace/text/log_numbers.h"

#include <gtest/gtest.h>

namespace pipetrace {
namespace {

TEST(LogNumbersTest, ATextThatIsANumberHasItsValue) {
  EXPECT_EQ(parseNumber<std::int64_t>("-12"), -12);
  EXPECT_EQ(parseNumber<std::int64_t>("0"), 0);
  EXPECT_EQ(parseNumber<double>("0.25"), 0.25);
  EXPECT_EQ(parseNumber<double>("1e9"), 1e9);
  EXPECT_EQ(parseNumber<double>("7."), 7.0);
}

TEST(LogNumbersTest, TextsThatHoldAnythingElseAreNoNumbers) {
  for (const std::string_view text : {"", " 1", "1 ", "+1", "1x", "x", "-", "0x1"}) {
    EXPECT_EQ(parseNumber<int>(text), std::nullopt) << text;
    EXPECT_EQ(parseNumber<double>(text), std::nullopt) << text;
  }
  EXPECT_EQ(parseNumber<int>("1.5"), std::nullopt);
  EXPECT_EQ(parseNumber<std::int32_t>("2147483647"), 2147483647);
  EXPECT_EQ(parseNumber<std::int32_t>("2147483648"), std::nullopt) << "out of range";
  EXPECT_EQ(parseNumber<double>("1e999"), std::nullopt);
  for (const std::string_view text : {"inf", "-inf", "nan", "infinity", "1e"}) {
    EXPECT_EQ(parseNumber<double>(text), std::nullopt) << text;
  }
}

TEST(LogNumbersTest, SumsThatAreTooLargeAreTheLargestNumber) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(addCounts(2, 3), 5);
  EXPECT_EQ(addCounts(kMost - 1, 1), kMost);
  EXPECT_EQ(addCounts(kMost, 1), kMost);
  EXPECT_EQ(addCounts(kMost - 2, 1), kMost - 1);
}

}  // namespace
}  // namespace pipetrace
