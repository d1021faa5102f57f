#include "chart/search/place_text.h"

#include <gtest/gtest.h>

namespace pipetrace {
namespace {

TEST(PlaceTextTest, TimesAreAfterTheStartOfTheRun) {
  for (const char* text : {"12.5 ms", "12.5ms", " 12500us ", "0.0125 S"}) {
    const auto place = placeOf(text);
    ASSERT_TRUE(place) << text;
    EXPECT_EQ(place->kind, TypedPlace::Kind::kTime) << text;
    EXPECT_EQ(place->time, 12'500'000) << text;
  }
}

TEST(PlaceTextTest, ASignMovesFromWhereTheViewIs) {
  EXPECT_EQ(placeOf("+3 ms")->kind, TypedPlace::Kind::kMove);
  EXPECT_EQ(placeOf("+3 ms")->time, 3'000'000);
  EXPECT_EQ(placeOf("- 3 ms")->time, -3'000'000);
}

TEST(PlaceTextTest, ANumberIsAStep) {
  for (const char* text : {"7", "step 7", "Step7"}) {
    const auto place = placeOf(text);
    ASSERT_TRUE(place) << text;
    EXPECT_EQ(place->kind, TypedPlace::Kind::kStep) << text;
    EXPECT_EQ(place->step, 7) << text;
  }
}

TEST(PlaceTextTest, OtherTextsAreNoPlaces) {
  for (const char* text : {"", "step", "step x", "-7", "12.5", "ms", "+", "+-3 ms", "step 3 ms",
                           "slowest", "1..2 ms"}) {
    EXPECT_FALSE(placeOf(text)) << text;
  }
}

}  // namespace
}  // namespace pipetrace
