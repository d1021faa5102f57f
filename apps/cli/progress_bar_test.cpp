#include "apps/cli/progress_bar.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pipetrace {
namespace {

using testing::HasSubstr;

TEST(ProgressLineTest, SaysHowMuchOfHowMuch) {
  EXPECT_EQ(progressLine("reading", 1'500'000'000, 3'000'000'000, 80),
            "reading [####################                    ]  50 %  1.50 GB of 3.00 GB");
  EXPECT_EQ(progressLine("reading", 0, 2'000'000, 48),
            "reading [             ]   0 %  0.0 MB of 2.0 MB");
  EXPECT_EQ(progressLine("writing a.json", 12'340'000, 0, 80), "writing a.json  12.3 MB");
}

TEST(ProgressLineTest, StaysInItsColumnsAndBelowAHundredPercent) {
  for (const int columns : {1, 5, 20, 40, 200}) {
    EXPECT_LT(progressLine("reading", 5'000'000, 3'000'000, columns).size(),
              static_cast<std::size_t>(columns));
  }
  EXPECT_THAT(progressLine("reading", 5'000'000, 3'000'000, 80),
              HasSubstr("100 %  3.0 MB of 3.0 MB"));
}

}  // namespace
}  // namespace pipetrace
