#include "trace/text/utf8.h"

#include <gtest/gtest.h>

namespace pipetrace {
namespace {

TEST(Utf8Test, WellFormedCharactersOfEveryLengthAreAccepted) {
  EXPECT_TRUE(isUtf8(""));
  EXPECT_TRUE(isUtf8("plain"));
  EXPECT_TRUE(isUtf8("plain and \xc2\x80 \xdf\xbf"));
  EXPECT_TRUE(isUtf8("前向 \xe0\xa0\x80 \xed\x9f\xbf \xef\xbf\xbf"));
  EXPECT_TRUE(isUtf8("\xf0\x90\x80\x80 \xf4\x8f\xbf\xbf"));
}

// The table of well-formed byte sequences of the Unicode standard (table 3-7), one step outside.
TEST(Utf8Test, IllFormedTextIsRefused) {
  for (const char* text : {"\x80", "\xbf", "\xc0\xaf", "\xc1\xbf", "\xc2", "\xc2\x41",
                           "\xe0\x9f\xbf", "\xed\xa0\x80", "\xe4\xb8", "\xf0\x8f\xbf\xbf",
                           "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "a\xf0\x9f\x98"}) {
    EXPECT_FALSE(isUtf8(text)) << text;
  }
}

TEST(Utf8Test, BadBytesAreReplacedOneByOne) {
  EXPECT_EQ(toUtf8("a\xff\xfe b"), "a\xef\xbf\xbd\xef\xbf\xbd b");
  EXPECT_EQ(toUtf8("前\xe5\x90"), "前\xef\xbf\xbd\xef\xbf\xbd");
  EXPECT_EQ(toUtf8("前向"), "前向");
}

TEST(Utf8Test, CodePointsAreEncoded) {
  std::string out;
  for (const char32_t c : {0x41U, 0xe9U, 0x524dU, 0x1f600U, 0xd800U, 0x110000U}) appendUtf8(out, c);
  EXPECT_EQ(out, "A\u00e9前😀\ufffd\ufffd");
}

TEST(Utf8Test, CharactersAreTakenWhole) {
  std::string_view text = "a\u00e9\u524d\U0001F600";
  EXPECT_EQ(takeCharacter(text), U'a');
  EXPECT_EQ(takeCharacter(text), U'\u00e9');
  EXPECT_EQ(takeCharacter(text), U'\u524d');
  EXPECT_EQ(takeCharacter(text), U'\U0001F600');
  EXPECT_TRUE(text.empty());
}

TEST(Utf8Test, BytesThatAreNoUtf8AreTakenOneByOneAsReplacements) {
  // A stray continuation, an overlong slash, a surrogate, a cut-off character.
  for (const std::string_view bytes : {"\x80", "\xC0\xAF", "\xED\xA0\x80", "\xE5\x89", "\xFF"}) {
    std::string_view rest = bytes;
    std::size_t taken = 0;
    while (!rest.empty()) {
      EXPECT_EQ(takeCharacter(rest), kReplacementCharacter);
      ++taken;
    }
    EXPECT_EQ(taken, bytes.size());
  }
}

}  // namespace
}  // namespace pipetrace
