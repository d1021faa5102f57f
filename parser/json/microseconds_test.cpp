#include "parser/json/microseconds.h"

#include <gmock/gmock.h>

namespace pipetrace {
namespace {

using testing::Eq;
using testing::Optional;

TEST(MicrosecondsTest, MicrosecondsAreReadAsDigits) {
  EXPECT_THAT(parseMicroseconds("0.001"), Optional(Eq(1)));
  EXPECT_THAT(parseMicroseconds("1697793307213760.986"), Optional(Eq(1697793307213760986)));
  EXPECT_THAT(parseMicroseconds("12"), Optional(Eq(12'000)));
  EXPECT_THAT(parseMicroseconds("-1.5"), Optional(Eq(-1'500)));
  EXPECT_THAT(parseMicroseconds("1.9999"), Optional(Eq(1'999)));
}

TEST(MicrosecondsTest, ExponentsMoveTheDot) {
  EXPECT_THAT(parseMicroseconds("1.2345678e3"), Optional(Eq(1'234'567)));
  EXPECT_THAT(parseMicroseconds("1.5E+2"), Optional(Eq(150'000)));
  EXPECT_THAT(parseMicroseconds("-25e-1"), Optional(Eq(-2'500)));
  EXPECT_THAT(parseMicroseconds("1e-3"), Optional(Eq(1)));
  EXPECT_THAT(parseMicroseconds("1e-4"), Optional(Eq(0)));
  EXPECT_THAT(parseMicroseconds("1e-999"), Optional(Eq(0)));
  EXPECT_THAT(parseMicroseconds("0e999"), Optional(Eq(0)));
  EXPECT_THAT(parseMicroseconds("1e15"), Optional(Eq(1'000'000'000'000'000'000)));
}

TEST(MicrosecondsTest, ATextThatIsNoTimeOrDoesNotFitIsRefused) {
  for (const char* text : {"", "x", "1e", "e5", "1e5x", "1e16", "1e999", "9223372036854775.808",
                           "1.2.3", "nan", "1e1.5"}) {
    EXPECT_EQ(parseMicroseconds(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace pipetrace
