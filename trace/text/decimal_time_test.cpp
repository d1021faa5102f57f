#include "trace/text/decimal_time.h"

#include <gmock/gmock.h>

#include <string>

namespace pipetrace {
namespace {

using testing::Eq;
using testing::Optional;

std::string milliseconds(Nanoseconds t) {
  std::string out;
  appendMilliseconds(out, t);
  return out;
}

TEST(DecimalTime, EpochMillisecondsKeepEveryNanosecond) {
  EXPECT_THAT(parseDecimalTime("1697793307213.760986", kNsPerMs),
              Optional(Eq(1697793307213760986)));
}

TEST(DecimalTime, TheGenuinePaddlePaddleJobsLastWhatTheirDigitsSay) {
  // Subtracted by hand from two known log lines.
  const auto duration = [](const char* begin, const char* end) {
    return *parseDecimalTime(end, kNsPerMs) - *parseDecimalTime(begin, kNsPerMs);
  };
  EXPECT_EQ(duration("1697793307213.760986", "1697793307254.006104"), 40'245'118);
  EXPECT_EQ(duration("1697793307214.742920", "1697793307219.168945"), 4'426'025);
}

TEST(DecimalTime, FewerDecimalsAndNoneAreRead) {
  EXPECT_THAT(parseDecimalTime("12.5", kNsPerMs), Optional(Eq(12'500'000)));
  EXPECT_THAT(parseDecimalTime("12", kNsPerUs), Optional(Eq(12'000)));
  EXPECT_THAT(parseDecimalTime("-0.000001", kNsPerMs), Optional(Eq(-1)));
}

TEST(DecimalTime, DigitsBeyondTheNanosecondAreCutOff) {
  EXPECT_THAT(parseDecimalTime("1.0000019", kNsPerMs), Optional(Eq(1'000'001)));
}

TEST(DecimalTime, TextThatIsNoPlainNumberIsRefused) {
  for (const char* text : {"", "-", ".", ".5", "5.", "1e3", " 1", "1 ", "1.2.3", "+1", "0x10"}) {
    EXPECT_EQ(parseDecimalTime(text, kNsPerMs), std::nullopt) << text;
  }
}

TEST(DecimalTime, ValuesOutsideInt64AreRefused) {
  EXPECT_THAT(parseDecimalTime("9223372036854.775807", kNsPerMs), Optional(Eq(kNsMax)));
  EXPECT_EQ(parseDecimalTime("9223372036854.775808", kNsPerMs), std::nullopt);
  EXPECT_THAT(parseDecimalTime("-9223372036854.775808", kNsPerMs), Optional(Eq(kNsMin)));
  EXPECT_EQ(parseDecimalTime("99999999999999999999999999", kNsPerMs), std::nullopt);
}

TEST(DecimalTime, PrintsTheDigitsThatWereRead) {
  EXPECT_EQ(milliseconds(1697793307213760986), "1697793307213.760986");
  EXPECT_EQ(milliseconds(0), "0.000000");
  EXPECT_EQ(milliseconds(-1), "-0.000001");
  EXPECT_EQ(milliseconds(kNsMin), "-9223372036854.775808");
}

TEST(DecimalTime, AShortDurationHasTwoDigits) {
  EXPECT_EQ(shortDuration(0), "0 ns");
  EXPECT_EQ(shortDuration(873), "873 ns");
  EXPECT_EQ(shortDuration(12'346), "12 us");
  EXPECT_EQ(shortDuration(999'999), "1.0 ms");
  EXPECT_EQ(shortDuration(3'214'000), "3.2 ms");
  EXPECT_EQ(shortDuration(9'949'000), "9.9 ms");
  EXPECT_EQ(shortDuration(9'960'000), "10 ms");
  EXPECT_EQ(shortDuration(317'400'000), "317 ms");
  EXPECT_EQ(shortDuration(-4'600'000), "-4.6 ms");
}

TEST(DecimalTime, DurationsThatDifferInTheFourthDigitLookDifferent) {
  EXPECT_EQ(formatDuration(0), "0 ns");
  EXPECT_EQ(formatDuration(873), "873 ns");
  EXPECT_EQ(formatDuration(12'346), "12.35 us");
  EXPECT_EQ(formatDuration(999'999), "1.000 ms");
  EXPECT_EQ(formatDuration(4'567'000), "4.567 ms");
  EXPECT_EQ(formatDuration(1'307'500'000), "1.308 s");
  EXPECT_EQ(formatDuration(354'000'000'000), "354.0 s");
  EXPECT_EQ(formatDuration(-12'346), "-12.35 us");
  EXPECT_EQ(formatDuration(1'031'000'000), "1.031 s");
  EXPECT_EQ(formatDuration(1'032'000'000), "1.032 s");
  EXPECT_EQ(formatDuration(99'996), "100.0 us");
}

}  // namespace
}  // namespace pipetrace
