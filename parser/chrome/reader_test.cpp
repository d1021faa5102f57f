#include "parser/chrome/reader.h"

#include <gmock/gmock.h>
#include <zlib.h>

#include "parser/chrome/write/writer.h"
#include "parser/profile/arrow.h"
#include "parser/testing/files.h"
#include "parser/testing/load_timeline.h"
#include "parser/testing/read_chrome.h"
#include "parser/testing/timelines.h"
#include "trace/testing/folders.h"

namespace pipetrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

using test::readChrome;
using Result = test::Reading;

class ChromeJsonReaderTest : public test::FolderTest {
 protected:
  std::string written(const Timeline& timeline) {
    OutputFile out(path("p.json"));
    writeChromeJson(timeline, {}, out);
    out.commit();
    return contents("p.json");
  }
};

TEST_F(ChromeJsonReaderTest, ReadingAProfileBackGivesItsTimeline) {
  const Timeline timeline = test::oneFOneB(4, 8, 3);
  const Result r = readChrome(written(timeline));
  EXPECT_EQ(test::describe(r.timeline), test::describe(timeline));
  EXPECT_THAT(r.diagnostics, IsEmpty());
}

TEST_F(ChromeJsonReaderTest, ReadingRandomProfilesBackGivesTheirTimelines) {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    const Timeline timeline = test::randomTimeline(seed);
    const Result r = readChrome(written(timeline));
    ASSERT_EQ(test::describe(r.timeline), test::describe(timeline)) << "seed " << seed;
    ASSERT_EQ(r.outcome.arrows, std::ssize(findArrows(timeline))) << "seed " << seed;
    ASSERT_THAT(r.diagnostics, IsEmpty()) << "seed " << seed;
  }
}

TEST_F(ChromeJsonReaderTest, ALateStartIsReadUnderItsFormerName) {
  const Result r =
      readChrome(test::withLaunchForSteady(written(test::oneBubble(BubbleClass::kSteady))));
  EXPECT_EQ(test::describe(r.timeline), test::describe(test::oneBubble(BubbleClass::kLateStart)));
  EXPECT_THAT(r.diagnostics, IsEmpty());
}

TEST_F(ChromeJsonReaderTest, WritingAReadProfileGivesTheSameBytes) {
  for (std::uint32_t seed = 0; seed < 50; ++seed) {
    const std::string first = written(test::randomTimeline(seed));
    EXPECT_EQ(written(readChrome(first).timeline), first) << "seed " << seed;
  }
}

TEST_F(ChromeJsonReaderTest, EveryNanosecondOfALongRunIsKept) {
  Timeline timeline;
  std::vector<Event>& events = timeline.track(0, kComputeLane).events;
  // Three days in, a double of microseconds no longer has every nanosecond.
  for (const Nanoseconds at : {Nanoseconds{0}, 3 * 86'400 * kNsPerSecond,
                               300 * 86'400 * kNsPerSecond + 1, 365 * 86'400 * kNsPerSecond}) {
    Event e;
    e.kind = JobKind::kForward;
    e.begin = test::kEpoch + at + 1;
    e.end = e.begin + 1'000'003;
    events.push_back(e);
  }
  EXPECT_EQ(test::describe(readChrome(written(timeline)).timeline), test::describe(timeline));
}

TEST_F(ChromeJsonReaderTest, GzippedProfilesAreRead) {
  const Timeline timeline = test::oneFOneB(2, 2, 1);
  const std::string json = written(timeline);
  gzFile out = gzopen(path("p.json.gz").c_str(), "wb");
  ASSERT_EQ(gzwrite(out, json.data(), static_cast<unsigned>(json.size())),
            static_cast<int>(json.size()));
  gzclose(out);
  Diagnostics diagnostics;
  EXPECT_EQ(test::describe(test::loadTimeline({path("p.json.gz")}, {}, diagnostics)),
            test::describe(timeline));
}

TEST_F(ChromeJsonReaderTest, OnlyTheBadEventIsLost) {
  std::string json = written(test::oneFOneB(1, 4, 1));
  const std::size_t whole = readChrome(json).timeline.eventCount();
  const std::size_t at = json.find("\"dur\":");
  json.replace(at, 6, "\"dur\":x");
  const Result r = readChrome(json);
  EXPECT_EQ(r.timeline.eventCount(), whole - 1);
  EXPECT_THAT(r.diagnostics, ElementsAre(HasSubstr("an event is no valid JSON")));
}

TEST_F(ChromeJsonReaderTest, ACutOffProfileGivesItsEventsAndIsReported) {
  const std::string json = written(test::oneFOneB(2, 4, 1));
  const std::size_t whole = readChrome(json).timeline.eventCount();
  std::size_t most = 0;
  for (std::size_t size = json.find("\"traceEvents\""); size + 4 < json.size(); size += 97) {
    const Result r = readChrome(json.substr(0, size));
    ASSERT_GE(r.timeline.eventCount(), most);
    most = r.timeline.eventCount();
    ASSERT_THAT(r.diagnostics,
                ElementsAre(AnyOf(HasSubstr("the file ends before its JSON does"),
                                  HasSubstr("the file ends in the middle of an event"))));
  }
  EXPECT_EQ(most, whole);
}

TEST_F(ChromeJsonReaderTest, MetadataMayFollowTheEvents) {
  const Timeline timeline = test::oneFOneB(2, 2, 1);
  const std::string json = written(timeline);
  const std::size_t from = json.find("\"otherData\"");
  const std::size_t to = json.find("\"traceEvents\"");
  const std::string moved = json.substr(0, from) + json.substr(to, json.rfind('}') - to) + "," +
                            json.substr(from, to - from - 1) + "}";
  EXPECT_EQ(test::describe(readChrome(moved).timeline), test::describe(timeline));
}

TEST(ForeignChromeJsonTest, ProcessesBecomeRanksAndThreadsLanes) {
  const Result r = readChrome(R"([
{"ph":"M","name":"process_name","pid":900,"args":{"name":"worker"}},
{"ph":"M","name":"thread_name","pid":900,"tid":5,"args":{"name":"main"}},
{"ph":"X","name":"step","pid":900,"tid":5,"ts":10.5,"dur":2.25,"args":{"micro_batch":3,"x":1}},
{"ph":"X","name":"idle","pid":17,"tid":6,"ts":1,"dur":1},
{"ph":"X","name":"idle","pid":"Spans","tid":"all","ts":1,"dur":1}
])");
  ASSERT_THAT(r.events(1, "main"), SizeIs(1));
  const Event& e = r.events(1, "main")[0];
  EXPECT_EQ(e.begin, 10'500);
  EXPECT_EQ(e.end, 12'750);
  EXPECT_EQ(e.kind, JobKind::kOther);
  EXPECT_EQ(e.microBatch, 3);
  EXPECT_EQ(r.timeline.strings[e.name], "step");
  EXPECT_EQ(r.timeline.ranks.at(1).device, "worker");
  EXPECT_THAT(r.events(0, "thread 6"), SizeIs(1));
  EXPECT_THAT(r.events(2, "thread all"), SizeIs(1));
}

TEST(ForeignChromeJsonTest, SortIndexesOrderTheRanks) {
  const Result r = readChrome(R"([
{"ph":"M","name":"process_sort_index","pid":1,"args":{"sort_index":9}},
{"ph":"X","name":"late","pid":1,"tid":1,"ts":1,"dur":1},
{"ph":"X","name":"early","pid":2,"tid":1,"ts":1,"dur":1}])");
  EXPECT_EQ(r.timeline.strings[r.events(0, "thread 1").at(0).name], "early");
  EXPECT_EQ(r.timeline.strings[r.events(1, "thread 1").at(0).name], "late");
}

TEST(ForeignChromeJsonTest, RanksOfASecondFileComeAfterThoseOfTheFirst) {
  EXPECT_THAT(
      readChrome(R"([{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":1}])", {.nextRank = 4})
          .events(4, "thread 1"),
      SizeIs(1));
}

TEST(ForeignChromeJsonTest, BeginsAndEndsArePairedAndTheirArgumentsPutTogether) {
  const Result r = readChrome(R"([
{"ph":"B","name":"outer","pid":1,"tid":1,"ts":1,"args":{"a":1}},
{"ph":"B","name":"inner","pid":1,"tid":1,"ts":2},
{"ph":"E","pid":1,"tid":1,"ts":3,"args":{"micro_batch":4}},
{"ph":"E","pid":1,"tid":1,"ts":5,"args":{"b":2}}])");
  const auto& events = r.events(0, "thread 1");
  ASSERT_THAT(events, SizeIs(2));
  EXPECT_EQ(events[0].duration(), 4000);
  EXPECT_THAT(r.timeline.argumentsOf(events[0]), SizeIs(2));
  EXPECT_EQ(events[1].duration(), 1000);
  EXPECT_EQ(events[1].microBatch, 4);
  EXPECT_THAT(r.diagnostics, IsEmpty());
}

TEST(ForeignChromeJsonTest, BeginsAndEndsWithoutPartnerAreReported) {
  const Result r = readChrome(R"([
{"ph":"E","pid":1,"tid":1,"ts":1},
{"ph":"B","name":"open","pid":1,"tid":1,"ts":2},
{"ph":"X","name":"last","pid":1,"tid":1,"ts":5,"dur":2}])");
  ASSERT_THAT(r.events(0, "thread 1"), SizeIs(2));
  EXPECT_EQ(r.events(0, "thread 1")[0].end, 7000);
  EXPECT_THAT(r.diagnostics,
              ElementsAre(HasSubstr("`E` event has no `B`"), HasSubstr("`B` event has no `E`")));
}

TEST(ForeignChromeJsonTest, CountersBecomeSeries) {
  const Result r = readChrome(R"([
{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":1},
{"ph":"C","name":"memory","pid":1,"ts":1,"args":{"used":3,"free":4.5}},
{"ph":"C","name":"loss","pid":1,"ts":1,"args":{"value":2}}])");
  std::vector<std::string> names;
  for (const CounterSeries& c : r.timeline.counters) names.push_back(c.name);
  EXPECT_THAT(names, ElementsAre("loss", "memory.free", "memory.used"));
}

TEST(ForeignChromeJsonTest, EventsWithoutTimeOrLengthAreReported) {
  const Result r = readChrome(R"([
{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":1},
{"ph":"X","name":"no time","pid":1,"tid":1,"dur":1},
{"ph":"X","name":"backwards","pid":1,"tid":1,"ts":1,"dur":-1},
{"ph":"X","name":"far","pid":1,"tid":1,"ts":9e15,"dur":9e15},
{"ph":"X","name":"285 years","pid":1,"tid":1,"ts":1,"dur":9e15},
{"ph":"i","name":"instant","pid":1,"tid":1,"ts":1},
{"name":"no phase"},
[1],
12])");
  EXPECT_EQ(r.timeline.eventCount(), 1U);
  EXPECT_THAT(r.diagnostics,
              ElementsAre(HasSubstr("no time that can be used and was left out (4 times)"),
                          HasSubstr("no span of one thread"), HasSubstr("no phase"),
                          HasSubstr("no valid JSON and was left out (2 times)")));
}

TEST(ForeignChromeJsonTest, EventsThatTheEpochMovesPastTheLargestTimeAreLeftOut) {
  const Result r = readChrome(R"({"baseTimeNanoseconds": 9223372036854775000, "traceEvents": [
{"ph":"X","name":"a","pid":1,"tid":1,"ts":0,"dur":0.5},
{"ph":"X","name":"far","pid":1,"tid":1,"ts":0.6,"dur":0.5},
{"ph":"X","name":"b","pid":1,"tid":1,"ts":0.7,"dur":0.1}]})");
  EXPECT_EQ(r.timeline.eventCount(), 2U);
  EXPECT_THAT(r.diagnostics, testing::Contains(HasSubstr("no time that can be used")));
}

TEST(ForeignChromeJsonTest, OurMetadataThatMakesNoSenseDoesNoHarm) {
  const std::string event = R"({"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":1})";
  for (
      const char* other :
      {R"({"pipetrace":1})", R"({"pipetrace":{}})", R"([])", R"(12)",
       R"({"pipetrace":{"origin_ns":1}})",
       R"({"pipetrace":{"origin_ns":"0","ranks":3,"counters":[1,{"rank":"x"}]}})",
       R"({"pipetrace":{"origin_ns":"0","ranks":[{"rank":-5},{"rank":1e99},{"rank":0,"end":7,"clock_readings":[3]}]}})"}) {
    EXPECT_EQ(
        readChrome("{\"otherData\":" + std::string(other) + ",\"traceEvents\":[" + event + "]}")
            .timeline.eventCount(),
        1U)
        << other;
  }
}

TEST(ForeignChromeJsonTest, TracesOfOtherProgramsAreReadWhole) {
  struct Case {
    const char* file;
    std::size_t events;
    int openBegins;
  };
  // Counted in the files themselves: X events, and B events with or without their E.
  const Case cases[] = {{"catapult_flow.json", 1625, 3},
                        {"kineto_nccl.json.gz", 26'933, 0},
                        {"megatronapp/app_aggregated.json", 5120, 0}};
  for (const Case& c : cases) {
    const std::string file = test::inSources("../shared/data/") + std::string(c.file);
    if (!std::filesystem::exists(file)) GTEST_SKIP() << file << " is not there";
    Diagnostics diagnostics;
    EXPECT_EQ(test::loadTimeline({file}, {.jobTime = JobTime::kHost}, diagnostics).eventCount(),
              c.events)
        << c.file;
    std::int64_t open = 0;
    for (const Diagnostic& d : diagnostics.list()) {
      if (d.message.starts_with("a `B` event")) open += d.count;
    }
    EXPECT_EQ(open, c.openBegins) << c.file;
  }
}

TEST(ChromeReaderShapes, ACommaBeforeTheFirstEventAndATraceInsideATraceAreRead) {
  const std::string event = R"({"ph":"X","name":"forward","pid":1,"tid":1,"ts":1,"dur":1})";
  EXPECT_EQ(ChromeJsonReader().probe("[," + event), FormatMatch::kCertain);
  EXPECT_THAT(readChrome("[," + event + "\n," + event + "]").events(0, "compute"), SizeIs(2));
  const Result nested = readChrome(R"({"traceEvents": {"schemaVersion": 1, "distributedInfo": )"
                                   R"({"rank": 3, "world_size": 4}, "traceEvents": [)" +
                                   event + "]}}");
  EXPECT_EQ(nested.outcome.events, 1);
  EXPECT_THAT(nested.timeline.ranks, testing::Contains(testing::Key(3)));
  EXPECT_THAT(nested.diagnostics, testing::Contains(HasSubstr("is no list but a whole trace")));
}

}  // namespace
}  // namespace pipetrace
