#include "parser/foreign/logs/pipeline_logger_writer.h"

#include <gmock/gmock.h>

#include "parser/foreign/logs/pipeline_logger_reader.h"
#include "parser/testing/files.h"
#include "parser/testing/reading.h"

namespace pipetrace {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

class PipelineLoggerWriterTest : public test::FolderTest {
 protected:
  std::string textOf(const Timeline& timeline, int rank) {
    OutputFile out(pipelineLoggerPath(path(""), rank));
    PipelineLoggerWriter(timeline, rank).write(out);
    out.commit();
    return contents("pipeline_rank" + std::to_string(rank) + ".json");
  }
};

Event loggedJob(JobKind kind, int microBatch, Nanoseconds begin, Nanoseconds end) {
  Event event;
  event.kind = kind;
  event.microBatch = microBatch;
  event.begin = begin;
  event.end = end;
  return event;
}

constexpr Nanoseconds kNow = 1'697'793'307'213'760'986;

TEST_F(PipelineLoggerWriterTest, StartsAndEndsHaveSecondsWithNineDecimals) {
  Timeline timeline;
  auto& sends = timeline.track(3, "send_forward").events;
  sends.push_back(loggedJob(JobKind::kSendForward, 0, kNow + 5, kNow + 1'000'000'014));
  auto& compute = timeline.track(3, kComputeLane).events;
  compute.push_back(loggedJob(JobKind::kForward, 0, kNow, kNow + 14));
  compute.push_back(loggedJob(JobKind::kOptimizer, kNotGiven, kNow + 20, kNow + 20));
  timeline.track(0, kComputeLane).events.push_back(loggedJob(JobKind::kForward, 0, kNow, kNow + 1));
  Event bubble = loggedJob(JobKind::kBubble, kNotGiven, kNow, kNow + 9);
  timeline.track(3, kBubbleLane).events.push_back(bubble);
  EXPECT_EQ(textOf(timeline, 3),
            R"({"rank":3,"event":"forward_start","minibatch":0,"time":1697793307.213760986}
{"rank":3,"event":"forward_end","minibatch":0,"time":1697793307.213761000}
{"rank":3,"event":"send_forward_start","minibatch":0,"time":1697793307.213760991}
{"rank":3,"event":"send_forward_end","minibatch":0,"time":1697793308.213761000}
{"rank":3,"event":"optimizer_start","time":1697793307.213761006}
{"rank":3,"event":"optimizer_end","time":1697793307.213761006}
)");
}

// Receives of one micro-batch, for two stages of the rank, are posted ahead and overlap.
TEST_F(PipelineLoggerWriterTest, TheReaderFindsTheSameTimesAlsoOfOverlappingMessages) {
  Timeline timeline;
  const std::vector<Event> receives{loggedJob(JobKind::kRecvForward, 2, -7, 2'000'000'000),
                                    loggedJob(JobKind::kRecvForward, 2, 10, 3'000'000'001)};
  timeline.track(0, "recv_forward").events = receives;
  Event load = loggedJob(JobKind::kOther, 1, 11, 12);
  load.name = timeline.strings.intern("load \"b\"");
  timeline.track(0, kComputeLane).events.push_back(load);
  const test::Reading read =
      test::readWith<PipelineLoggerReader>("log.json", textOf(timeline, 0), {});
  EXPECT_THAT(read.diagnostics, IsEmpty());
  ASSERT_THAT(read.events(0, "recv"), SizeIs(2));
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(read.events(0, "recv")[i].begin, receives[i].begin);
    EXPECT_EQ(read.events(0, "recv")[i].end, receives[i].end);
    EXPECT_EQ(read.events(0, "recv")[i].microBatch, 2);
  }
  ASSERT_THAT(read.events(0, "other"), SizeIs(1));
  EXPECT_EQ(read.timeline.strings[read.events(0, "other")[0].name], "load \"b\"");
}

TEST_F(PipelineLoggerWriterTest, KernelsAndBubblesAreNoJobs) {
  Timeline timeline;
  timeline.track(0, "stream 7").events.push_back(loggedJob(JobKind::kKernel, 0, 1, 2));
  timeline.track(0, kBubbleLane).events.push_back(loggedJob(JobKind::kBubble, 0, 1, 2));
  EXPECT_EQ(PipelineLoggerWriter(timeline, 0).jobs(), 0U);
}

}  // namespace
}  // namespace pipetrace
