#include "chart/search/fuzzy_match.h"

#include <gtest/gtest.h>

namespace pipetrace {
namespace {

TEST(FuzzyMatchTest, TheLettersMustBeThereInTheirOrder) {
  EXPECT_TRUE(fuzzyMatch("zo ou", "Zoom out"));
  EXPECT_TRUE(fuzzyMatch("ZMT", "Zoom out"));
  EXPECT_FALSE(fuzzyMatch("tz", "Zoom out"));
  EXPECT_FALSE(fuzzyMatch("zoom outer", "Zoom out"));
  EXPECT_TRUE(fuzzyMatch("", "Zoom out"));
  EXPECT_FALSE(fuzzyMatch("a", ""));
}

TEST(FuzzyMatchTest, BeginningsOfWordsAndNeighboursWin) {
  const auto isBetter = [](const char* typed, const char* better, const char* worse) {
    return *fuzzyMatch(typed, better) > *fuzzyMatch(typed, worse);
  };
  EXPECT_TRUE(isBetter("ns", "Next step", "Quit and unsave"));
  EXPECT_TRUE(isBetter("find", "Find", "Fit in and done"));
  EXPECT_TRUE(isBetter("rank 1", "rank 1, compute", "rank 11, compute"));
  EXPECT_TRUE(isBetter("step 3", "Step 3", "Step 13"));
  EXPECT_TRUE(isBetter("zoom", "Zoom in", "View: Zoom in"));
}

TEST(FuzzyMatchTest, LongTextsDoNotTakeLong) {
  EXPECT_TRUE(fuzzyMatch("aaa", std::string(100'000, 'a')));
  EXPECT_FALSE(fuzzyMatch(std::string(100'000, 'b'), std::string(100'000, 'a')));
}

}  // namespace
}  // namespace pipetrace
