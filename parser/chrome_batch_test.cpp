#include "parser/chrome_batch.h"

#include <gmock/gmock.h>

#include <random>

#include "parser/chrome_json_reader.h"
#include "parser/test_reading.h"
#include "parser/test_timelines.h"

namespace pipetrace {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// A trace with events of many lengths, some of them not plain, some broken, over several lines or
/// none; event i is called "e<i>".
std::string mixedTrace(std::uint32_t seed, int events) {
  std::mt19937 random(seed);
  std::string trace = "{\"otherData\":{\"a\":1},\"traceEvents\":[";
  for (int i = 0; i < events; ++i) {
    if (i > 0) trace += random() % 2 == 0 ? ",\n" : ",";
    const std::string name = "\"e" + std::to_string(i) + "\"";
    const std::string times = ",\"ph\":\"X\",\"pid\":1,\"tid\":" + std::to_string(random() % 3) +
                              ",\"ts\":" + std::to_string(i * 10) + ",\"dur\":5.5";
    switch (random() % 12) {
      case 0: trace += "{\"name\":" + name + times + ",\"x\":[1,{\"y\":2}]}"; break;
      case 1: trace += "{ \"name\" :\n " + name + times + "}"; break;
      case 2: trace += "{\"name\":" + name + "," + times + "}"; break;  // a comma too many
      case 3:
        trace += "{\"name\":" + name + times + ",\"args\":{\"text\":\"" +
                 std::string(random() % 40'000, 'z') + "\"}}";
        break;
      default:
        trace +=
            "{\"name\":" + name + times + ",\"args\":{\"n\":" + std::to_string(random()) + "}}";
    }
  }
  return trace + "],\"displayTimeUnit\":\"ns\"}";
}

std::string describe(const ChromeBatch::Piece& piece) {
  std::string text = std::to_string(piece.line) + " ";
  if (piece.kind == ChromeBatch::Kind::kNoEvent) return text + "no event";
  if (piece.kind == ChromeBatch::Kind::kField) {
    return text + std::string(piece.key) + " " + std::string(piece.text);
  }
  text += std::string(piece.event->name) + " " + std::to_string(piece.event->ts.value_or(-1));
  for (const ChromeArgument& argument : piece.event->arguments) {
    text += " " + std::string(argument.key) + "=" + std::to_string(argument.integer) +
            std::string(argument.text);
  }
  return text;
}

std::vector<std::string> piecesOf(const std::string& trace, ChromeReading reading) {
  ByteSource source("t.json", trace);
  JsonSplitter splitter(source);
  ChromeBatch batch(reading);
  std::vector<std::string> pieces;
  while (batch.fill(splitter)) {
    for (const ChromeBatch::Piece& piece : batch.pieces()) pieces.push_back(describe(piece));
  }
  return pieces;
}

TEST(ChromeBatch, EveryPieceComesOnceInItsOrderAndLineHoweverItIsRead) {
  for (std::uint32_t seed = 0; seed < 3; ++seed) {
    const std::string trace = mixedTrace(seed, 1500);
    const auto pieces = piecesOf(trace, ChromeReading::kFast);
    EXPECT_EQ(pieces, piecesOf(trace, ChromeReading::kByLibrary)) << seed;
    ASSERT_EQ(pieces.size(), 1501U);
    EXPECT_EQ(pieces.front(), "1 otherData {\"a\":1}");
    for (int i = 0; i < 1500; ++i) {
      const std::string& piece = pieces[static_cast<std::size_t>(i) + 1];
      if (piece.find("no event") != std::string::npos) continue;
      EXPECT_THAT(piece, HasSubstr(" e" + std::to_string(i) + " " + std::to_string(i * 10'000)));
    }
  }
}

TEST(ChromeBatch, TimelineAndRemarksDoNotDependOnThreads) {
  const std::string trace = mixedTrace(7, 3000);
  ASSERT_GT(trace.size(), std::size_t{4} << 20);  // else one thread reads it anyway
  const auto one = test::readWith<ChromeJsonReader>("t.json", trace, {.threads = 1});
  const auto two = test::readWith<ChromeJsonReader>("t.json", trace, {.threads = 2});
  EXPECT_EQ(test::describe(two.timeline), test::describe(one.timeline));
  EXPECT_EQ(two.diagnostics, one.diagnostics);
  EXPECT_THAT(one.diagnostics, Not(IsEmpty()));
}

}  // namespace
}  // namespace pipetrace
