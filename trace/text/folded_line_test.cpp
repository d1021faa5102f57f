#include "trace/text/folded_line.h"

#include <gtest/gtest.h>

namespace pipetrace {
namespace {

TEST(FoldedLine, ALineThatFitsStaysAsItIs) {
  EXPECT_EQ(foldedLine("F forward, B backward", 21), "F forward, B backward");
  EXPECT_EQ(foldedLine("", 0), "");
}

TEST(FoldedLine, ALongLineIsBrokenAtBlanks) {
  EXPECT_EQ(foldedLine("F forward, B backward, - idle", 20), "F forward,\n  B backward, - idle");
  EXPECT_EQ(foldedLine("one two three four", 8), "one two\n  three\n  four");
}

TEST(FoldedLine, AWordThatIsTooLongHasALineOfItsOwn) {
  EXPECT_EQ(foldedLine("a supercalifragilistic b", 6), "a\n  supercalifragilistic\n  b");
  EXPECT_EQ(foldedLine("supercalifragilistic", 6), "supercalifragilistic");
}

TEST(FoldedLine, ABlankInFrontIsNoPlaceToBreak) {
  EXPECT_EQ(foldedLine(" supercalifragilistic b", 6), " supercalifragilistic\n  b");
}

}  // namespace
}  // namespace pipetrace
