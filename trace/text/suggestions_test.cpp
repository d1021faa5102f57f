#include "trace/text/suggestions.h"

#include <gmock/gmock.h>

namespace pipetrace {
namespace {

const std::vector<std::string> kOptions = {
    "--run",        "--output",        "--csv",     "--costs-out", "--forward-parts",
    "--forward-ms", "--micro-batches", "--log_dir", "--steps",     "--absolute-time"};

TEST(SuggestionsTest, TheBeginningOfAnOptionSuggestsTheShortestOne) {
  EXPECT_EQ(nearestOption("--out", kOptions), "--output");
  EXPECT_EQ(nearestOption("--forward", kOptions), "--forward-ms");
  EXPECT_EQ(nearestOption("--microbatch", kOptions), "--micro-batches");
  EXPECT_EQ(nearestOption("--log-dir", kOptions), "--log_dir");
}

TEST(SuggestionsTest, DashesDoNotMakeAShortNameLong) {
  EXPECT_EQ(nearestOption("--svg", kOptions), "") << "two of three letters are off";
  EXPECT_EQ(nearestOption("--rum", kOptions), "--run");
  EXPECT_EQ(nearestOption("--ouptut", kOptions), "--output");
}

TEST(SuggestionsTest, WordsOfAnOptionSuggestIt) {
  EXPECT_EQ(nearestOption("--num-micro-batches", kOptions), "--micro-batches");
  EXPECT_EQ(nearestOption("--batches", kOptions), "--micro-batches");
  EXPECT_EQ(nearestOption("--time", kOptions), "--absolute-time");
  EXPECT_EQ(nearestOption("--output-file", kOptions), "--output");
  EXPECT_EQ(nearestOption("--prune", kOptions), "--run") << "two of five letters are off";
  EXPECT_EQ(nearestOption("--trunk-size", kOptions), "") << "a part of a word says nothing";
}

TEST(SuggestionsTest, OtherOptionsSuggestNothing) {
  for (const char* typed : {"--colour", "--x", "--", "--frobnicate"}) {
    EXPECT_EQ(nearestOption(typed, kOptions), "") << typed;
  }
}

}  // namespace
}  // namespace pipetrace
