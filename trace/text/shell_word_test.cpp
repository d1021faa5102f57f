#include "trace/text/shell_word.h"

#include <gtest/gtest.h>

namespace pipetrace {
namespace {

TEST(ShellWord, PathsAndOptionsStayAsTheyAre) {
  EXPECT_EQ(shellWord("--logs=runs/a_b-1.log"), "--logs=runs/a_b-1.log");
}

TEST(ShellWord, TextsThatAShellWouldSplitOrExpandAreQuoted) {
  EXPECT_EQ(shellWord("two words"), "'two words'");
  EXPECT_EQ(shellWord("$HOME/*"), "'$HOME/*'");
  EXPECT_EQ(shellWord(""), "''");
}

TEST(ShellWord, AQuoteInsideEndsTheQuotedPartAndIsEscaped) {
  EXPECT_EQ(shellWord("it's"), "'it'\\''s'");
}

TEST(ShellWord, CharactersThatATerminalWouldObeyAreEscapesInCommandsToCopy) {
  EXPECT_EQ(printedShellWord("two words"), "'two words'");
  EXPECT_EQ(printedShellWord("größe"), "'größe'");
  EXPECT_EQ(printedShellWord("a\n'b'\\\x1b"), "$'a\\x0a\\'b\\'\\\\\\x1b'");
  EXPECT_EQ(printedShellWord("\xe2\x80\xae"), "$'\\xe2\\x80\\xae'");
}

}  // namespace
}  // namespace pipetrace
