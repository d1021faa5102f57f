#include "runtime/starting_ranks/rank_output.h"

#include <gmock/gmock.h>

#include "profiler/testing/recorded_log.h"

namespace pipetrace {
namespace {

TEST(RankOutputTest, OnlyWholeLinesAreHandedOn) {
  RecordedLog log;
  RankOutput output(2, log.path());
  std::string display;
  output.add("one\ntw", display);
  EXPECT_EQ(display, "[rank 2] one\n");
  EXPECT_EQ(log.text(), "one\n");
  output.add("o\n\nthree", display);
  EXPECT_EQ(display, "[rank 2] one\n[rank 2] two\n[rank 2] \n");
  output.finish(display);
  output.finish(display);
  EXPECT_EQ(log.text(), "one\ntwo\n\nthree\n");
  EXPECT_EQ(output.lastLines(), "  one\n  two\n  \n  three\n");
}

TEST(RankOutputTest, ALineWithoutAnEndIsBroken) {
  RecordedLog log;
  RankOutput output(0, log.path());
  std::string display;
  const std::string piece(RankOutput::kLongestLine / 2 + 1, 'x');
  for (int i = 0; i < 4; ++i) output.add(piece, display);
  output.finish(display);
  const std::string text = log.text();
  EXPECT_EQ(std::count(text.begin(), text.end(), 'x'), static_cast<long>(4 * piece.size()));
  EXPECT_EQ(text.find('\n'), RankOutput::kLongestLine);
  EXPECT_EQ(text.back(), '\n');
}

TEST(RankOutputTest, BytesOfAnyKindArriveAsTheyAre) {
  RecordedLog log;
  RankOutput output(0, log.path());
  std::string display;
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  output.add(bytes, display);
  output.finish(display);
  EXPECT_EQ(log.text(), bytes + '\n');
}

TEST(RankOutputTest, OnlyTheLastLinesAreRemembered) {
  RecordedLog log;
  RankOutput output(0, log.path());
  std::string display;
  for (int i = 0; i < 100; ++i) output.add(std::to_string(i) + "\n", display);
  EXPECT_TRUE(output.lastLines().starts_with("  90\n"));
  EXPECT_TRUE(output.lastLines().ends_with("  99\n"));
}

TEST(RankOutputTest, ALongLastLineEndsWithDots) {
  const RecordedLog log;
  RankOutput output(0, log.path());
  std::string display;
  output.add(std::string(2000, 'x') + "\n", display);
  EXPECT_TRUE(output.lastLines().ends_with("xxx ...\n"));
  EXPECT_LT(output.lastLines().size(), 1100U);
}

}  // namespace
}  // namespace pipetrace
