#include "parser/chrome/blocks.h"

#include <gmock/gmock.h>

#include <random>

#include "parser/chrome/parsed_block.h"
#include "parser/chrome/reader.h"
#include "parser/testing/reading.h"
#include "parser/testing/timelines.h"

namespace pipetrace {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// A trace with events of many lengths, some of them not plain, some broken, on several lines or
/// one; event i is called "e<i>".
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
      case 2: trace += "{\"name\":" + name + "," + times + "}"; break;  // one comma too many
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

struct Result {
  std::string timeline;
  std::vector<std::string> remarks;
  std::vector<std::string> strings;  // in the order of their ids

  bool operator==(const Result&) const = default;
};

Result resultOf(const std::string& trace, const ChromeJsonReader& reader, int threads) {
  ByteSource source("t.json", trace);
  Timeline timeline;
  Diagnostics diagnostics;
  const ReadOutcome outcome = reader.read(source, {.threads = threads}, timeline, diagnostics);
  Result result;
  for (StringId id = 0; id < timeline.strings.size(); ++id) {
    result.strings.emplace_back(timeline.strings[id]);
  }
  timeline.sort();
  result.timeline = test::describe(timeline) + outcome.whyNone;
  for (const Diagnostic& d : diagnostics.list()) result.remarks.push_back(toText(d));
  return result;
}

/// Checks that each way to read the trace gives the same as one thread with the library.
void expectTheSame(const std::string& trace) {
  const Result expected = resultOf(trace, ChromeJsonReader(ChromeReading::kByLibrary), 1);
  for (const std::size_t blockSize : {40, 300, 5000}) {
    for (const int threads : {1, 3}) {
      const ChromeJsonReader reader(ChromeReading::kFast, blockSize);
      const Result result = resultOf(trace, reader, threads);
      EXPECT_EQ(result.timeline, expected.timeline) << blockSize << ", " << threads;
      EXPECT_EQ(result.remarks, expected.remarks) << blockSize << ", " << threads;
      EXPECT_EQ(result.strings, expected.strings) << blockSize << ", " << threads;
    }
  }
}

std::string event(int i, const std::string& more = "") {
  return R"({"ph":"X","name":"e)" + std::to_string(i) + R"(","pid":1,"tid":)" +
         std::to_string(i % 3) + R"(,"ts":)" + std::to_string(10 * i) + R"(,"dur":5)" + more + "}";
}

/// A trace of events with `odd` among them.
std::string traceWith(const std::string& odd, const std::string& end = "]") {
  std::string trace = "[" + event(0);
  for (int i = 1; i < 60; ++i) trace += (i % 20 == 0 ? ",\n" + odd + ",\n" : ",\n") + event(i);
  return trace + end;
}

TEST(ChromeBlocksTest, EveryEventIsReadExactlyOnceWithItsTime) {
  const std::string trace = mixedTrace(1, 500);
  expectTheSame(trace);
  const ChromeJsonReader reader(ChromeReading::kFast, 1000);
  const Result result = resultOf(trace, reader, 3);
  for (int i = 0; i < 500; ++i) {
    const std::string name = "e" + std::to_string(i);
    // One of twelve kinds of events is broken; its text shows which.
    const std::size_t at = trace.find("\"" + name + "\"");
    if (trace.substr(at + name.size() + 2, 2) == ",,") continue;
    EXPECT_THAT(result.timeline, HasSubstr(name)) << name;
  }
}

TEST(ChromeBlocksTest, TimelineAndDiagnosticsDoNotDependOnThreads) {
  const std::string trace = mixedTrace(7, 3000);
  ASSERT_GT(trace.size(), std::size_t{4} << 20);  // else one thread reads it anyway
  const Result one = resultOf(trace, ChromeJsonReader(), 1);
  EXPECT_EQ(resultOf(trace, ChromeJsonReader(), 2), one);
  EXPECT_THAT(one.remarks, Not(IsEmpty()));
}

TEST(ChromeBlocksTest, AnElementThatIsNoEventCostsOnlyItselfInAnyBlock) {
  const std::string zeros(3, '\0');
  for (const std::string& odd : std::vector<std::string>{
           R"({"ph":"X","name":"open)", R"({"ph":"X","args":{)", R"({"ph":]})", "12", "nonsense",
           "[", "}", "{}", "\"text\"", "{\"ph\":\"" + zeros + "\"}", zeros, "\xff\xfe",
           R"({"ph":"X","name":"\")", R"({"ph":"M","name":"thread_name","pid":1,"tid":1})"}) {
    SCOPED_TRACE(odd);
    expectTheSame(traceWith(odd));
    expectTheSame(R"({"traceEvents":)" + traceWith(odd) + R"(,"baseTimeNanoseconds":7})");
  }
}

TEST(ChromeBlocksTest, TextThatOnlyLooksLikeTheStartOfAnEventIsNoEvent) {
  const std::string inner = R"([{"ph":1},{"ph":2},{"ph":3},{"ph":4}])";
  for (const std::string& more :
       std::vector<std::string>{R"(,"args":{"list":)" + inner + "}", ",\"list\":" + inner,
                                R"(,"args":{"text":"\",{\"ph\":"})",
                                ",\"args\":{\"text\":\"" + std::string(700, ',') + "\"}"}) {
    SCOPED_TRACE(more);
    expectTheSame(traceWith(event(7, more)));
  }
}

TEST(ChromeBlocksTest, TheEndOfTheArrayIsFoundWhereverItIs) {
  for (const std::string& end :
       std::vector<std::string>{"", "]", ",", ",]", "]]", "]}", "}",
                                "],\n" + event(1) + "," + event(2), R"(,{"ph":"X")"}) {
    SCOPED_TRACE(end);
    expectTheSame(traceWith(event(8), end));
    expectTheSame(R"({"distributedInfo":{"rank":3},"traceEvents":)" + traceWith(event(8), end));
  }
}

TEST(ChromeBlocksTest, NamesCountersAndEdgesAreReadAsInOneBlock) {
  std::string trace = "[" + event(0);
  for (int i = 1; i < 100; ++i) {
    const std::string number = std::to_string(i);
    trace += R"(,{"ph":"M","name":"process_name","pid":)" + std::to_string(i % 4) +
             R"(,"args":{"name":"p)" + number + "\"}}";
    trace +=
        R"(,{"ph":"C","name":"used","pid":1,"ts":)" + number + R"(,"args":{"a":)" + number + "}}";
    trace +=
        R"(,{"ph":"B","name":"b)" + number + R"(","cat":"c","pid":2,"tid":2,"ts":)" + number + "}";
    if (i % 3 == 0) trace += R"(,{"ph":"E","pid":2,"tid":2,"ts":)" + number + R"(,"args":{"z":1}})";
    trace += R"(,{"ph":"s","pid":2,"tid":2,"ts":)" + number + "}";
  }
  expectTheSame(trace + "]");
}

TEST(ChromeBlocksTest, AWronglyGuessedBlockComesAgainAndCountsOnce) {
  // The second block begins inside a list, which its reader cannot know.
  const std::string text = R"([{"a":0},{"a":[{"a":1},{"a":2}]},{"a":3},{"a":4},{"a":5}])";
  ByteSource source("t.json", text);
  JsonSplitter splitter(
      source, {.array = "traceEvents", .isWanted = [](std::string_view) { return false; }});
  ChromeBlocks blocks(splitter, 20);
  std::vector<std::string> pieces;
  const auto use = [&](const JsonSplitter::Piece& piece) { pieces.emplace_back(piece.text); };
  ChromeBlocks::Block first;
  ChromeBlocks::Block second;
  ASSERT_TRUE(blocks.next(first, use));  // the array's start
  EXPECT_THAT(pieces, testing::ElementsAre("{\"a\":0}"));
  EXPECT_TRUE(blocks.settle(first, 0));
  ASSERT_TRUE(blocks.next(first, use));
  ASSERT_TRUE(blocks.next(second, use));
  ParsedChromeBlock parsed("t.json");
  const std::size_t read = readChromeElements(first.text, first.line, parsed);
  ASSERT_LT(read, first.text.size());
  EXPECT_TRUE(blocks.settle(first, read));
  EXPECT_FALSE(blocks.settle(second, second.text.size()));
  pieces.clear();
  while (blocks.next(first, use)) {
    if (!first.text.empty()) pieces.push_back(first.text);
    ASSERT_TRUE(blocks.settle(first, first.text.size()));
  }
  std::string all;
  for (const std::string& piece : pieces) all += piece;
  EXPECT_EQ(std::count(all.begin(), all.end(), '3'), 1);
  EXPECT_EQ(std::count(all.begin(), all.end(), '1'), 1);
}

}  // namespace
}  // namespace pipetrace
