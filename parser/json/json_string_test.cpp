#include "parser/json/json_string.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

namespace pipetrace {
namespace {

std::string written(std::string_view text) {
  std::string out;
  appendJsonString(out, text);
  return out;
}

bool reads(std::string_view body, std::string& out) {
  out.clear();
  return appendFromJsonString(out, body);
}

TEST(JsonStringTest, QuotesBackslashesAndControlCharactersAreEscaped) {
  using namespace std::string_view_literals;
  EXPECT_EQ(written("a\"b\\c\n\r\t\x01\x1f\x7f\0z"sv),
            R"("a\"b\\c\n\r\t\u0001\u001f\u007f\u0000z")");
  EXPECT_EQ(written("前向 😀"), "\"前向 😀\"");
  EXPECT_EQ(written(""), "\"\"");
}

TEST(JsonStringTest, LastBackslashIsNotBesideTheQuote) {
  EXPECT_EQ(written("a\\b\\"), R"("a\\b\u005c")");
  EXPECT_EQ(written("a\\\""), R"("a\\\"")");
  std::string out;
  appendJsonForViewers(out, R"({"a\\":["b\\\"","\\\\","c\n)"
                            "\x7f"
                            R"("]})");
  EXPECT_EQ(out, R"({"a\u005c":["b\\\"","\\\u005c","c\n\u007f"]})");
}

TEST(JsonStringTest, BytesThatAreNoUtf8AreReplaced) {
  EXPECT_EQ(written("a\xff z"), "\"a\xef\xbf\xbd z\"");
}

TEST(JsonStringTest, EveryEscapeIsRead) {
  std::string out;
  ASSERT_TRUE(reads(R"(\"\\\/\b\f\n\r\t\u0041\u00e9\u524d\ud83d\ude00)", out));
  EXPECT_EQ(out, "\"\\/\b\f\n\r\tA\u00e9前😀");
}

TEST(JsonStringTest, LoneSurrogatesBecomeReplacements) {
  std::string out;
  ASSERT_TRUE(reads(R"(\ud83d-\ude00\ud83d\u0041)", out));
  EXPECT_EQ(out,
            "\ufffd-\ufffd\ufffd"
            "A");
}

TEST(JsonStringTest, StringsThatBreakTheRulesAreRefused) {
  std::string out;
  for (const char* body : {"\\", "\\x", "\\u12", "\\u12g4", "\\u-123", "a\"b", "\\ud83d\\u12"}) {
    EXPECT_FALSE(reads(body, out)) << body;
  }
}

TEST(JsonStringTest, RandomBytesAreReadBackByOursAndAnotherParser) {
  std::mt19937 random(3);
  for (int round = 0; round < 2000; ++round) {
    std::string text(random() % 20, '\0');
    for (char& c : text) c = static_cast<char>(random() % (round % 2 == 0 ? 128 : 256));
    const std::string json = written(text);
    const auto other = nlohmann::json::parse(json).get<std::string>();
    std::string ours;
    ASSERT_TRUE(reads(std::string_view(json).substr(1, json.size() - 2), ours));
    EXPECT_EQ(ours, other);
    if (round % 2 == 0) {
      EXPECT_EQ(ours, text);
    }
  }
}

}  // namespace
}  // namespace pipetrace
