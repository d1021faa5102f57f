// Reads the log and the ring file that a program leaves when it ends without closing them. No
// program dies here: the files are copied while the recorder is open, as a kill would leave them.
#include <gmock/gmock.h>

#include <cstring>
#include <limits>
#include <random>
#include <thread>

#include "parser/testing/load_timeline.h"
#include "profiler/cpu_stream.h"
#include "profiler/recorder.h"
#include "profiler/testing/recorded_log.h"
#include "profiler/testing/scripted_stream.h"
#include "tests/recording/left_over.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

namespace fs = std::filesystem;
namespace rf = ring_format;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

std::vector<std::int64_t> ids(const Timeline& timeline, std::string_view lane, int rank = 0) {
  std::vector<std::int64_t> list;
  const Track* const track = timeline.findTrack(rank, lane);
  if (track == nullptr) return list;
  for (const Event& event : track->events) list.push_back(event.job);
  return list;
}

std::string argument(const Timeline& timeline, const Event& event, std::string_view key) {
  for (const Argument& each : timeline.argumentsOf(event)) {
    if (timeline.strings[each.key] != key) continue;
    if (each.type == ArgumentType::kInteger) return std::to_string(each.integer);
    return std::string(timeline.strings[each.text]);
  }
  return "";
}

TEST(LeftOverRingTest, UnwrittenJobsAreReadAsIfTheyWereInTheLog) {
  LeftOver left;
  left.job(left.compute, 5);
  left.job(left.send, 5, JobKind::kSendForward);
  left.job(left.compute, 6);
  awaitLogThread();
  left.die();
  left.recorder.close();
  const Timeline recovered = left.load();
  EXPECT_THAT(left.messages(), Contains(HasSubstr("3 jobs that are not in the log")));
  Diagnostics none;
  const Timeline written = test::loadTimeline({left.original.folder()}, {}, none);
  EXPECT_THAT(none.list(), IsEmpty());
  for (const char* const lane : {"compute", "send"}) {
    const std::vector<Event>& found = recovered.findTrack(0, lane)->events;
    const std::vector<Event>& expected = written.findTrack(0, lane)->events;
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].begin, expected[i].begin);
      EXPECT_EQ(found[i].end, expected[i].end);
      EXPECT_EQ(found[i].kind, expected[i].kind);
      EXPECT_EQ(found[i].job, expected[i].job);
      EXPECT_EQ(found[i].microBatch, expected[i].microBatch);
      EXPECT_EQ(found[i].step, expected[i].step);
      EXPECT_EQ(found[i].stage, expected[i].stage);
      EXPECT_EQ(found[i].peer, expected[i].peer);
      for (const char* const key : {"action", "bytes", "untimed"}) {
        EXPECT_EQ(argument(recovered, found[i], key), argument(written, expected[i], key)) << key;
      }
    }
  }
  EXPECT_EQ(argument(recovered, recovered.findTrack(0, "compute")->events[0], "action"), "2F3");
}

TEST(LeftOverRingTest, JobsThatAreInTheLogAreNotReadTwice) {
  LeftOver left;
  for (int i = 0; i < 10; ++i) left.job(left.compute, i);
  left.job(left.send, 3, JobKind::kSendForward);
  left.recorder.flush();
  left.die();
  EXPECT_THAT(ids(left.load(), "compute"), SizeIs(10));
  // A kill between the write of the lines and the return of their slots.
  left.poke(left.laneAt(0) + offsetof(rf::LaneHeader, freed), std::uint64_t{4});
  left.poke(left.laneAt(1) + offsetof(rf::LaneHeader, freed), std::uint64_t{0});
  const Timeline timeline = left.load();
  EXPECT_THAT(ids(timeline, "compute"), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
  EXPECT_THAT(ids(timeline, "send"), ElementsAre(3));
}

TEST(LeftOverRingTest, ATornSlotIsLeftOutAndTheOthersRead) {
  LeftOver left;
  for (int i = 0; i < 30; ++i) left.job(left.compute, i);  // too few for lines to be written
  left.die();
  const std::size_t slots = left.laneAt(0) + sizeof(rf::LaneHeader);
  left.poke(slots + 10 * sizeof(rf::Slot) + offsetof(rf::Slot, sequence), std::uint32_t{0});
  left.poke(slots + 20 * sizeof(rf::Slot) + offsetof(rf::Slot, sequence), std::uint32_t{21 + 64});
  const Timeline timeline = left.load();
  const std::vector<std::int64_t> found = ids(timeline, "compute");
  EXPECT_THAT(found, SizeIs(28));
  EXPECT_THAT(found, Not(Contains(10)));
  EXPECT_THAT(found, Not(Contains(20)));
}

TEST(LeftOverRingTest, AFullLapOverwritesNothingThatIsNotInTheLog) {
  LeftOver left;
  for (int lap = 0; lap < 5; ++lap) {
    for (int i = 0; i < 60; ++i) left.job(left.compute, lap * 60 + i);
    left.recorder.flush();
  }
  for (int i = 300; i < 350; ++i) left.job(left.compute, i);
  left.die();
  const std::vector<std::int64_t> found = ids(left.load(), "compute");
  ASSERT_THAT(found, SizeIs(350));
  for (int i = 0; i < 350; ++i) EXPECT_EQ(found[static_cast<std::size_t>(i)], i);
}

TEST(LeftOverRingTest, TheJobThatWasOpenIsNamed) {
  LeftOver left;
  left.job(left.compute, 5);
  awaitLogThread();
  left.recorder.begin(left.compute, {.kind = JobKind::kBackward, .microBatch = 6});
  left.die();
  EXPECT_THAT(ids(left.load(), "compute"), ElementsAre(5));
  EXPECT_THAT(left.messages(),
              Contains(HasSubstr("ended in backward of micro-batch 6 on stream compute")));
}

TEST(LeftOverRingTest, SamplesOfCountersAreReadOnce) {
  LeftOver left;
  left.job(left.compute, 0);
  left.recorder.counter("loss", 3.5, "nats");
  left.recorder.flush();
  left.recorder.counter("loss", 2.5, "nats");
  awaitLogThread();
  left.die();
  const Timeline timeline = left.load();
  ASSERT_THAT(timeline.counters, SizeIs(1));
  EXPECT_EQ(timeline.counters[0].name, "loss");
  EXPECT_EQ(timeline.counters[0].unit, "nats");
  ASSERT_THAT(timeline.counters[0].samples, SizeIs(2));
  EXPECT_EQ(timeline.counters[0].samples[1].value, 2.5);
}

TEST(LeftOverRingTest, SamplesThatAreInTheLogAreNotReadTwice) {
  LeftOver left;
  left.job(left.compute, 0);
  left.recorder.counter("loss", 0.1, "nats");
  left.recorder.counter("loss", 0.1, "nats");
  left.recorder.counter("depth", -std::numeric_limits<double>::infinity());
  left.recorder.flush();
  left.die();
  // A kill between the write of the lines and the return of their slots.
  std::string bytes = left.ringBytes();
  for (std::uint64_t n = 0; n < 3; ++n) {
    const std::uint64_t turn = n + 1;
    std::memcpy(bytes.data() + rf::kCountersAt + n * sizeof(rf::CounterSlot), &turn, sizeof(turn));
  }
  left.setRingBytes(bytes);
  left.poke(offsetof(rf::FileHeader, countersFreed), std::uint64_t{0});
  const Timeline timeline = left.load();
  ASSERT_THAT(timeline.counters, SizeIs(2));
  for (const CounterSeries& counter : timeline.counters) {
    EXPECT_THAT(counter.samples, SizeIs(counter.name == "loss" ? 2 : 1)) << counter.name;
  }
}

TEST(LeftOverRingTest, JobsWithoutTimesFromTheirDeviceAreUntimed) {
  LeftOver left;
  auto owned = std::make_unique<ScriptedStream>();
  ScriptedStream& device = *owned;
  const StreamId copy = left.recorder.addStream("copy", std::move(owned));
  device.now = monotonicNow();
  device.known = device.now.load();
  left.job(copy, 1, JobKind::kCopy);
  awaitLogThread();
  device.now = device.now + 1000;
  left.job(copy, 2, JobKind::kCopy);
  awaitLogThread();
  left.die();
  const Timeline timeline = left.load();
  const std::vector<Event>& events = timeline.findTrack(0, "copy")->events;
  ASSERT_THAT(events, SizeIs(2));
  for (const Event& event : events) {
    EXPECT_EQ(argument(timeline, event, "untimed"), event.job == 2 ? "1" : "") << event.job;
  }
  device.known = kNsMax;
}

TEST(LeftOverRingTest, ACleanCloseLeavesNoRingFile) {
  LeftOver left;
  left.job(left.compute, 1);
  left.die();
  EXPECT_NE(left.ring, "");
  left.recorder.close();
  EXPECT_EQ(LeftOver::fileIn(left.original.folder()), "");
}

TEST(LeftOverRingTest, EachRunOfALogHasItsOwnRingFile) {
  LeftOver left;
  left.job(left.compute, 1);
  left.die();
  {
    RecorderOptions options = LeftOver::options(left.copy);
    options.logDirectory = left.copy.folder();
    Recorder second(options);
    const StreamId compute = second.addStream("compute", std::make_unique<CpuStream>());
    second.begin(compute, {.id = 7});
    second.end(compute);
    second.close();
  }
  EXPECT_THAT(ids(left.load(), "compute"), ElementsAre(7));
  EXPECT_THAT(ids(left.load(0), "compute"), ElementsAre(1));
  EXPECT_TRUE(fs::exists(left.ring)) << "a later run leaves it alone";
}

TEST(LeftOverRingTest, ARingFileIsReadWithoutItsLog) {
  LeftOver left;
  left.job(left.compute, 1);
  left.die();
  const Timeline timeline = test::loadTimeline({left.ring}, {}, left.diagnostics);
  EXPECT_THAT(ids(timeline, "compute"), ElementsAre(1));
  EXPECT_THAT(timeline.ranks.at(0).clock, testing::AnyOf("tsc", "monotonic_raw"));
}

TEST(LeftOverRingTest, AnUnreadableRingFileIsAWarning) {
  LeftOver left;
  left.job(left.compute, 1);
  left.recorder.flush();
  left.die();
  for (const std::uint32_t version : {0u, rf::kVersion + 1}) {
    left.poke(offsetof(rf::FileHeader, version), version);
    EXPECT_THAT(ids(left.load(), "compute"), ElementsAre(1));
    EXPECT_THAT(left.messages(), Contains(HasSubstr("this ring file cannot be read")));
    left.diagnostics = {};
  }
  left.setRingBytes("");
  EXPECT_THAT(ids(left.load(), "compute"), ElementsAre(1));
}

TEST(LeftOverRingTest, ARingFileWithAnyContentsBreaksNothing) {
  LeftOver left;
  left.job(left.compute, 1);
  left.recorder.flush();
  for (int i = 2; i < 30; ++i) left.job(left.compute, i);
  left.die();
  const std::string whole = left.ringBytes();
  const std::size_t lane = left.laneAt(0);
  std::mt19937 random(7);
  for (int round = 0; round < 60; ++round) {
    std::string bytes = whole.substr(0, round % 3 == 0 ? random() % whole.size() : whole.size());
    for (int i = 0; i < 40; ++i) {
      const std::size_t from = i % 2 == 0 ? 0 : lane;
      const std::size_t at = from + random() % 6000;
      if (at >= 16 && at < bytes.size()) bytes[at] = static_cast<char>(random());
    }
    left.setRingBytes(bytes);
    Diagnostics diagnostics;
    try {
      EXPECT_GE(test::loadTimeline({left.copy.folder()}, {}, diagnostics).eventCount(), 1u);
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("292 years"));  // times from anywhere
    }
  }
}

}  // namespace
}  // namespace pipetrace
