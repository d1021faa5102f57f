#include "parser/perfetto/reader.h"

#include <gmock/gmock.h>
#include <zlib.h>

#include <protozero/pbf_writer.hpp>

#include "parser/perfetto/writer.h"
#include "parser/profile/arrow.h"
#include "parser/testing/files.h"
#include "parser/testing/load_timeline.h"
#include "parser/testing/read_perfetto.h"
#include "parser/testing/timelines.h"

namespace pipetrace {
namespace {

using protozero::pbf_writer;
using test::readPerfetto;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Result = test::Reading;

class PerfettoReaderTest : public test::FolderTest {
 protected:
  std::string written(const Timeline& timeline) {
    OutputFile out(path("p.pftrace"));
    writePerfetto(timeline, {}, out);
    out.commit();
    return contents("p.pftrace");
  }
};

TEST_F(PerfettoReaderTest, ReadingAProfileBackGivesItsTimeline) {
  const Timeline timeline = test::oneFOneB(4, 8, 3);
  const Result r = readPerfetto(written(timeline));
  EXPECT_EQ(test::describe(r.timeline), test::describe(timeline));
  EXPECT_EQ(r.outcome.events, static_cast<std::int64_t>(timeline.eventCount()));
  EXPECT_THAT(r.diagnostics, IsEmpty());
}

TEST_F(PerfettoReaderTest, ReadingRandomProfilesBackGivesTheirTimelines) {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    const Timeline timeline = test::randomTimeline(seed);
    const Result r = readPerfetto(written(timeline));
    ASSERT_EQ(test::describe(r.timeline), test::describe(timeline)) << "seed " << seed;
    ASSERT_EQ(r.outcome.arrows, std::ssize(findArrows(timeline))) << "seed " << seed;
    ASSERT_THAT(r.diagnostics, IsEmpty()) << "seed " << seed;
  }
}

TEST_F(PerfettoReaderTest, ALateStartIsReadUnderItsFormerName) {
  const Result r =
      readPerfetto(test::withLaunchForSteady(written(test::oneBubble(BubbleClass::kSteady))));
  EXPECT_EQ(test::describe(r.timeline), test::describe(test::oneBubble(BubbleClass::kLateStart)));
  EXPECT_THAT(r.diagnostics, IsEmpty());
}

TEST_F(PerfettoReaderTest, WritingAReadProfileGivesTheSameBytes) {
  for (std::uint32_t seed = 0; seed < 50; ++seed) {
    const std::string first = written(test::randomTimeline(seed));
    EXPECT_EQ(written(readPerfetto(first).timeline), first) << "seed " << seed;
  }
}

TEST_F(PerfettoReaderTest, EveryNanosecondOfALongRunIsKept) {
  Timeline timeline;
  std::vector<Event>& events = timeline.track(12, kComputeLane).events;
  for (const Nanoseconds at :
       {Nanoseconds{0}, 3 * 86'400 * kNsPerSecond, 365 * 86'400 * kNsPerSecond + 1}) {
    Event e;
    e.kind = JobKind::kForward;
    e.begin = test::kEpoch + at + 1;
    e.end = e.begin + 1'000'003;
    events.push_back(e);
  }
  EXPECT_EQ(test::describe(readPerfetto(written(timeline)).timeline), test::describe(timeline));
}

TEST_F(PerfettoReaderTest, TheFormatIsKnownByTheFirstBytesAlsoInAGzippedFile) {
  const Timeline timeline = test::oneFOneB(2, 2, 1);
  const std::string bytes = written(timeline);
  gzFile out = gzopen(path("noname").c_str(), "wb");
  ASSERT_EQ(gzwrite(out, bytes.data(), static_cast<unsigned>(bytes.size())),
            static_cast<int>(bytes.size()));
  gzclose(out);
  EXPECT_EQ(PerfettoReader().probe(bytes), FormatMatch::kCertain);
  Diagnostics diagnostics;
  EXPECT_EQ(test::describe(test::loadTimeline({path("noname")}, {}, diagnostics)),
            test::describe(timeline));
}

TEST_F(PerfettoReaderTest, ALogThatBeginsWithAnEmptyLineIsNoTrace) {
  for (const char* text : {"\n", "\nI1020 09:15:07 Profiler Info: Job (3)", "\n\n\n", "{}"}) {
    EXPECT_EQ(PerfettoReader().probe(text), FormatMatch::kNo) << text;
  }
}

TEST_F(PerfettoReaderTest, ACutOffProfileGivesItsEventsAndIsReported) {
  const std::string bytes = written(test::oneFOneB(2, 4, 1));
  const std::size_t whole = readPerfetto(bytes).timeline.eventCount();
  std::size_t most = 0;
  std::size_t reported = 0;
  for (std::size_t size = 1; size < bytes.size(); size += 31) {
    const Result r = readPerfetto(bytes.substr(0, size));
    ASSERT_GE(r.timeline.eventCount(), most);
    most = r.timeline.eventCount();
    for (const std::string& d : r.diagnostics) {
      reported += d.find("ends in the middle of a packet") != std::string::npos ? 1U : 0U;
    }
  }
  EXPECT_EQ(most, whole);
  // All but the few cuts that fall between two packets.
  EXPECT_GT(reported, bytes.size() / 31 * 9 / 10);
}

TEST_F(PerfettoReaderTest, OnlyTheMalformedPacketIsLost) {
  const std::string bytes = written(test::oneFOneB(1, 2, 1));
  const std::size_t whole = readPerfetto(bytes).timeline.eventCount();
  std::string bad;
  pbf_writer(bad).add_message(1, std::string("\x5a\x7f", 2));  // an event longer than its packet
  const Result r = readPerfetto(bytes + bad);
  EXPECT_EQ(r.timeline.eventCount(), whole);
  EXPECT_THAT(r.diagnostics, ElementsAre(HasSubstr("a packet is malformed")));
}

TEST_F(PerfettoReaderTest, JunkAfterATraceIsReported) {
  const Result r =
      readPerfetto(written(test::oneFOneB(1, 2, 1)) + "\xff\xff\xff\xff\xff\xff\xff hello");
  EXPECT_THAT(r.diagnostics, ElementsAre(HasSubstr("is no Perfetto trace")));
}

TEST_F(PerfettoReaderTest, APacketLongerThanTheFileIsReportedAsCutOff) {
  const Result r = readPerfetto("\x0a\xff\xff\xff\xff\xff\xff\xff\x7f\x08");
  EXPECT_THAT(r.diagnostics, ElementsAre(HasSubstr("ends in the middle of a packet")));
  EXPECT_THAT(r.outcome.whyNone, HasSubstr("0 packets"));
}

}  // namespace
}  // namespace pipetrace
