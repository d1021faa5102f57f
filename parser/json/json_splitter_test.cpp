#include "parser/json/json_splitter.h"

#include <gmock/gmock.h>

#include <vector>

namespace pipetrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct Cut {
  std::vector<std::string> pieces;
  bool cutOff = false;
  bool cutInElement = false;
};

Cut cut(const std::string& json) {
  ByteSource source("memory", json);
  JsonSplitter splitter(
      source, {.array = "list", .isWanted = [](std::string_view key) { return key == "other"; }});
  JsonSplitter::Piece piece;
  Cut result;
  while (splitter.next(piece)) {
    switch (piece.kind) {
      case JsonSplitter::Kind::kEvent: result.pieces.emplace_back(piece.text); break;
      case JsonSplitter::Kind::kField:
        result.pieces.push_back(std::string(piece.key) + "=" + std::string(piece.text));
        break;
      case JsonSplitter::Kind::kBroken:
        result.pieces.push_back("broken:" + std::to_string(piece.line));
        break;
    }
  }
  result.cutOff = splitter.cutOff();
  result.cutInElement = splitter.cutInElement();
  return result;
}

TEST(JsonSplitterTest, TheArrayFormIsCutIntoItsElements) {
  const Cut c = cut(R"([{"a":1}, {"b":[1,{"c":2}]} ,
 {"d":"]}[{"}])");
  EXPECT_THAT(c.pieces, ElementsAre(R"({"a":1})", R"({"b":[1,{"c":2}]})", R"({"d":"]}[{"})"));
  EXPECT_FALSE(c.cutOff);
}

TEST(JsonSplitterTest, TheObjectFormGivesItsArrayAndTheFieldsThatAreWanted) {
  const Cut c =
      cut(R"({"skipped":[{"x":1}],"list":[{"a":1}],"n":12,"other":{"v":"}"},"s":"\"]"} )");
  EXPECT_THAT(c.pieces, ElementsAre(R"({"a":1})", R"(other={"v":"}"})"));
  EXPECT_FALSE(c.cutOff);
}

TEST(JsonSplitterTest, EscapedQuotesDoNotEndAString) {
  EXPECT_THAT(cut(R"([{"a":"\"}"},{"b":"\\"}])").pieces,
              ElementsAre(R"({"a":"\"}"})", R"({"b":"\\"})"));
}

TEST(JsonSplitterTest, AByteOrderMarkAndBlanksComeFirst) {
  EXPECT_THAT(cut("\xef\xbb\xbf \n [ {} ]").pieces, ElementsAre("{}"));
}

TEST(JsonSplitterTest, EmptyContainersHoldNothing) {
  EXPECT_THAT(cut("[]").pieces, IsEmpty());
  EXPECT_THAT(cut("{}").pieces, IsEmpty());
  EXPECT_THAT(cut(R"({"list":[]})").pieces, IsEmpty());
}

TEST(JsonSplitterTest, AnArrayNeedNotBeClosed) {
  const Cut c = cut("[{\"a\":1},\n{\"b\":2},\n");
  EXPECT_THAT(c.pieces, ElementsAre(R"({"a":1})", R"({"b":2})"));
  EXPECT_FALSE(c.cutOff);
}

TEST(JsonSplitterTest, AFileThatEndsInTheMiddleIsCutOff) {
  for (const char* json : {R"({"list":[{"a":1},)", R"({"list":[{"a":1},{"b":)", R"([{"a":1},{"b":)",
                           R"([{"a":1},{"b":"x)"}) {
    const Cut c = cut(json);
    EXPECT_THAT(c.pieces, ElementsAre(R"({"a":1})")) << json;
    EXPECT_TRUE(c.cutOff) << json;
  }
  for (const char* json : {"", "x", "{\"list\"", "{\"list\":", "{\"a\":1"}) {
    EXPECT_TRUE(cut(json).cutOff) << json;
  }
}

TEST(JsonSplitterTest, AnElementThatDoesNotCloseCostsItsLine) {
  EXPECT_THAT(cut("[{\"a\":1},\n{\"b\":{,\n{\"c\":3}\n]").pieces,
              ElementsAre(R"({"a":1})", "broken:2", R"({"c":3})"));
  EXPECT_THAT(cut("[{\"a\":\"open},\n{\"c\":3}]").pieces, ElementsAre("broken:1", R"({"c":3})"));
  EXPECT_THAT(cut("[{\"a\":[1},\n{\"c\":3}]").pieces, ElementsAre("broken:1", R"({"c":3})"));
}

TEST(JsonSplitterTest, OtherLinesOfABrokenElementAreNoElements) {
  const std::string element = "  {\n    \"a\": 1, \"b\": \"x\",\n    \"c\": { \"d\": 2 }\n  },\n";
  const std::string broken = "  {\n    \"a\": [1, \"b\": \"x\",\n    \"c\": { \"d\": 2 }\n  },\n";
  const Cut c = cut("{\"list\": [\n" + broken + element + "]}");
  ASSERT_EQ(c.pieces.size(), 2U);
  EXPECT_EQ(c.pieces[0], "broken:2");
  EXPECT_TRUE(c.pieces[1].starts_with("{\n    \"a\": 1")) << c.pieces[1];
  EXPECT_FALSE(c.cutOff);
}

TEST(JsonSplitterTest, AnElementThatTheEndCutsIsNotHandedOutHoweverManyLinesItHas) {
  const std::string element = "  {\n    \"a\": 1, \"b\": \"x\",\n    \"c\": { \"d\": 2 }\n  },\n";
  const std::string list = "{\"list\": [\n" + element;
  for (std::size_t more = 3; more < element.size() - 3; ++more) {
    const Cut c = cut(list + element.substr(0, more));
    EXPECT_EQ(c.pieces.size(), 1U) << more;
    EXPECT_TRUE(c.cutOff) << more;
    EXPECT_TRUE(c.cutInElement) << more;
  }
  EXPECT_FALSE(cut(list).cutInElement);
  EXPECT_TRUE(cut(list).cutOff);
}

TEST(JsonSplitterTest, ElementsThatAreNoObjectsAreHandedOut) {
  EXPECT_THAT(cut("[1,\"x\",null,{}]").pieces, ElementsAre("1", "\"x\"", "null", "{}"));
}

TEST(JsonSplitterTest, PiecesAcrossWindowsAreWhole) {
  std::string json = "[";
  std::vector<std::string> expected;
  for (int i = 0; i < 40; ++i) {
    expected.push_back("{\"a\":\"" + std::string(static_cast<std::size_t>(i) * 9973, 'x') + "\"}");
    json += (i > 0 ? ",\n" : "\n") + expected.back();
  }
  EXPECT_EQ(cut(json + "]").pieces, expected);
}

TEST(JsonSplitterTest, AFieldLargerThanAnyEventIsSkipped) {
  const std::string large(JsonSplitter::kLargestPiece + 5, 'x');
  EXPECT_THAT(cut("{\"skip\":\"" + large + "\",\"list\":[{\"a\":1}]}").pieces,
              ElementsAre(R"({"a":1})"));
}

TEST(JsonSplitterTest, AnEventLargerThanTheLimitIsBroken) {
  const std::string large(JsonSplitter::kLargestPiece + 5, 'x');
  EXPECT_THAT(cut("[{\"a\":\"" + large + "\"},\n{\"b\":1}]").pieces.front(), "broken:1");
}

}  // namespace
}  // namespace pipetrace
