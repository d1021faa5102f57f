#include "parser/foreign/logs/pipeline_logger_reader.h"

#include <gmock/gmock.h>

#include <regex>

#include "parser/testing/files.h"
#include "parser/testing/load_timeline.h"
#include "parser/testing/reading.h"

namespace pipetrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

using Result = test::Reading;

Result readLogger(const std::string& bytes, const ReadRequest& request = {}) {
  return test::readWith<PipelineLoggerReader>("log.json", bytes, request);
}

constexpr const char* kLines = R"({"rank":1,"event":"recv_forward_start","minibatch":0,"time":1.7e9}
{"rank":1,"event":"recv_forward_end","minibatch":0,"time":1700000000.25}
{"rank":1,"event":"forward_start","minibatch":0,"time":1700000000.250000123}
{"rank":1,"event":"forward_end","minibatch":0,"time":1700000001}
{"rank":1,"event":"send_forward_start","minibatch":0,"time":1700000001.0}
{"rank":1,"event":"send_forward_end","minibatch":0,"time":1.7000000015E+9}
{"rank":1,"event":"load_start","minibatch":1,"time":1700000002.0}
{"rank":1,"event":"load_end","minibatch":1,"time":1700000003.0}
)";

void expectLines(const Result& r) {
  constexpr Nanoseconds kStart = 1'700'000'000 * kNsPerSecond;
  ASSERT_THAT(r.events(1, "recv"), SizeIs(1));
  EXPECT_EQ(r.events(1, "recv")[0].kind, JobKind::kRecvForward);
  EXPECT_EQ(r.events(1, "recv")[0].begin, kStart);
  EXPECT_EQ(r.events(1, "recv")[0].end, kStart + 250'000'000);
  ASSERT_THAT(r.events(1, "compute"), SizeIs(1));
  EXPECT_EQ(r.events(1, "compute")[0].kind, JobKind::kForward);
  EXPECT_EQ(r.events(1, "compute")[0].microBatch, 0);
  EXPECT_EQ(r.events(1, "compute")[0].begin, kStart + 250'000'123);
  EXPECT_EQ(r.events(1, "compute")[0].end, kStart + kNsPerSecond);
  ASSERT_THAT(r.events(1, "send"), SizeIs(1));
  EXPECT_EQ(r.events(1, "send")[0].end, kStart + 1'500'000'000);
  ASSERT_THAT(r.events(1, "other"), SizeIs(1));
  EXPECT_EQ(r.timeline.strings[r.events(1, "other")[0].name], "load");
  EXPECT_THAT(r.diagnostics, IsEmpty());
}

TEST(PipelineLoggerReaderTest, StartsAndEndsBecomeJobsToTheNanosecond) {
  EXPECT_EQ(PipelineLoggerReader().probe(kLines), FormatMatch::kCertain);
  expectLines(readLogger(kLines));
}

TEST(PipelineLoggerReaderTest, AnArrayIsReadLikeLines) {
  const std::string array =
      "[" + std::regex_replace(std::string(kLines), std::regex("\\}\n\\{"), "},{") + "]";
  EXPECT_EQ(PipelineLoggerReader().probe(array), FormatMatch::kCertain);
  expectLines(readLogger(array));
}

TEST(PipelineLoggerReaderTest, ChromeTracesAndLogsAreNotTakenForItsFormat) {
  for (const char* text : {"[{\"ph\":\"X\",\"event\":1,\"time\":\"a_start\"}]",
                           "{\"traceEvents\":[]}", "a_start\"", "", "{\"rank\":0}"}) {
    EXPECT_EQ(PipelineLoggerReader().probe(text), FormatMatch::kNo) << text;
  }
}

TEST(PipelineLoggerReaderTest, AMinibatchMayRepeatAndSeveralMayOverlap) {
  const Result r = readLogger(R"(
{"event":"forward_start","minibatch":0,"time":1}
{"event":"forward_start","minibatch":1,"time":2}
{"event":"forward_end","minibatch":0,"time":3}
{"event":"forward_end","minibatch":1,"time":5}
{"event":"forward_start","minibatch":0,"time":6}
{"event":"forward_end","minibatch":0,"time":7})",
                              {.rank = 3});
  ASSERT_THAT(r.events(3, "compute"), SizeIs(3));
  EXPECT_EQ(r.events(3, "compute")[1].begin, 2 * kNsPerSecond);
  EXPECT_EQ(r.events(3, "compute")[1].end, 5 * kNsPerSecond);
  EXPECT_EQ(r.events(3, "compute")[2].duration(), kNsPerSecond);
}

TEST(PipelineLoggerReaderTest, EntriesThatCannotBeUsedAreReportedWithTheirLine) {
  const Result r = readLogger(R"({"rank":0,"event":"forward_start","minibatch":0,"time":1}
{"rank":0,"event":"backward_end","minibatch":0,"time":2}
{"rank":-4,"event":"forward_end","minibatch":0,"time":2}
{"rank":0,"event":"forward_end","minibatch":0}
{"rank":0,"event":"forward_end" "minibatch":0}
{"rank":0,"event":"flush","time":3}
{"rank":0,"event":"send_forward_start","minibatch":0,"time":9,"bytes":7}
{"rank":0,"event":"send_forward_end","minibatch":0,"time":8}
{"rank":0,"event":"recv_backward_start","minibatch":9999999999,"time":1e300}
{"rank":0,"event":"recv_backward_st)");
  EXPECT_EQ(r.outcome.events, 0);
  EXPECT_THAT(r.outcome.whyNone, HasSubstr("none of them a pair"));
  EXPECT_THAT(
      r.diagnostics,
      ElementsAre(HasSubstr("log.json:2: warning: an end has no start"),
                  HasSubstr("log.json:3: warning: an entry has no event, rank, minibatch or time"),
                  HasSubstr("log.json:5: warning: an entry is no valid JSON"),
                  HasSubstr("log.json:6: note: an event that neither starts"),
                  HasSubstr("log.json:8: warning: a job ends before it starts"),
                  HasSubstr("an entry does not end"),
                  HasSubstr("log.json:1: warning: a start has no end"),
                  HasSubstr("a field of an unknown name")));
}

TEST(PipelineLoggerReaderTest, LinesThatAllBeginAnObjectAreReadInLinearTime) {
  std::string open;
  while (open.size() < (std::size_t{3} << 20)) open += "{\n";  // minutes, if quadratic
  const Result r = readLogger(open + kLines);
  EXPECT_THAT(r.diagnostics, testing::Contains(HasSubstr("an entry does not end")));
}

class PipelineLoggerFilesTest : public test::FolderTest {};

TEST_F(PipelineLoggerFilesTest, OneFilePerRankGivesOneTimeline) {
  for (int rank = 0; rank < 3; ++rank) {
    std::string line = R"({"rank":R,"event":"forward_start","minibatch":0,"time":1.5}
{"rank":R,"event":"forward_end","minibatch":0,"time":2.5})";
    line = std::regex_replace(line, std::regex("R"), std::to_string(rank));
    write("rank" + std::to_string(rank) + ".json", line);
  }
  Diagnostics diagnostics;
  const Timeline timeline = test::loadTimeline(
      {path("rank2.json"), path("rank0.json"), path("rank1.json")}, {}, diagnostics);
  EXPECT_THAT(timeline.tracks, SizeIs(3));
  EXPECT_TRUE(diagnostics.empty());
}

}  // namespace
}  // namespace pipetrace
