#include "trace/text/millisecond_printer.h"

#include <gmock/gmock.h>

#include <cinttypes>
#include <cstdio>
#include <random>
#include <string>

#include "trace/text/decimal_time.h"

namespace pipetrace {
namespace {

std::string number(std::int64_t value) {
  std::array<char, 24> text{};
  return {text.data(), printNumber(text.data(), value)};
}

TEST(DecimalDigitsTest, AreThoseOfPrintf) {
  const auto expected = [](std::uint32_t value) {
    std::array<char, 16> text{};
    std::snprintf(text.data(), text.size(), "%08" PRIu32, value);
    return std::string(text.data());
  };
  const auto ours = [](std::uint32_t value) {
    std::array<char, 8> text{};
    return std::string(text.data(), putCharacters(text.data(), eightDigits(value), 8));
  };
  // All groups of four digits in both places, so that every digit stands beside every other.
  for (std::uint32_t four = 0; four < 10'000; ++four) {
    ASSERT_EQ(ours(four), expected(four));
    ASSERT_EQ(ours(10'000 * four + 9'999 - four), expected(10'000 * four + 9'999 - four));
  }
}

TEST(DecimalDigitsTest, NumbersHaveNoLeadingZeros) {
  for (const int sign : {1, -1}) {
    for (std::int64_t power = 1; power < kNsMax / 10; power *= 10) {
      for (const std::int64_t value : {power - 1, power, power + 1, 7 * (power / 10)}) {
        EXPECT_EQ(number(sign * value), std::to_string(sign * value));
      }
    }
  }
  EXPECT_EQ(number(1'000'000'000'000'000'000), "1000000000000000000");
  EXPECT_EQ(number(INT64_MAX), "9223372036854775807");
  EXPECT_EQ(number(INT64_MIN), "-9223372036854775808");
}

class MillisecondPrinterTest : public testing::Test {
 protected:
  std::string print(Nanoseconds time) {
    std::array<char, MillisecondPrinter::kRoom> text{};
    return {text.data(), printer_.print(text.data(), time)};
  }

 private:
  MillisecondPrinter printer_;
};

TEST_F(MillisecondPrinterTest, TheSecondChangesWithTheTimes) {
  EXPECT_EQ(print(1697793307'213'760'986), "1697793307213.760986");
  EXPECT_EQ(print(1697793307'000'000'000), "1697793307000.000000");
  EXPECT_EQ(print(1697793307'999'999'999), "1697793307999.999999");
  EXPECT_EQ(print(1697793308'000'000'000), "1697793308000.000000");
  EXPECT_EQ(print(1697793306'999'999'999), "1697793306999.999999");
}

TEST_F(MillisecondPrinterTest, TimesBelowASecondHaveNoLeadingZeros) {
  EXPECT_EQ(print(0), "0.000000");
  EXPECT_EQ(print(1'000'000'000), "1000.000000");
  EXPECT_EQ(print(5'000'001), "5.000001");
  EXPECT_EQ(print(999'999'999), "999.999999");
  EXPECT_EQ(print(-1), "-0.000001");
  EXPECT_EQ(print(-1'500'000'000), "-1500.000000");
}

TEST_F(MillisecondPrinterTest, AgreesWithPrintMilliseconds) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 2'000; ++i) {
    // The times are of all sizes. Some are close to the one before.
    const auto time = static_cast<Nanoseconds>(random()) >> (random() % 64);
    for (const Nanoseconds other : {time, time / 3 + 1, kNsMax - i, kNsMin + i}) {
      std::string expected;
      appendMilliseconds(expected, other);
      ASSERT_EQ(print(other), expected);
    }
  }
}

TEST_F(MillisecondPrinterTest, AgreesWithPrintMillisecondsAcrossMilliseconds) {
  std::mt19937_64 random(2);
  Nanoseconds time = 999'990'000'000;
  for (int i = 0; i < 20'000; ++i) {
    time += static_cast<Nanoseconds>(random() >> (40 + random() % 24)) - 2000;
    std::string expected;
    appendMilliseconds(expected, time);
    ASSERT_EQ(print(time), expected);
  }
}

}  // namespace
}  // namespace pipetrace
