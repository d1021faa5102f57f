#include "profiler/recorder.h"

#include <gmock/gmock.h>

#include <chrono>
#include <regex>
#include <thread>

#include "profiler/clock/wall_clock.h"
#include "profiler/cpu_stream.h"
#include "profiler/job_scope.h"
#include "profiler/testing/recorder_fixture.h"
#include "profiler/testing/scripted_stream.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

const char* const kStream = "Profiler Stream: ";

struct Scripted {
  explicit Scripted(Recorder& recorder, const char* name) {
    auto owned = std::make_unique<ScriptedStream>();
    stream = owned.get();
    id = recorder.addStream(name, std::move(owned));
  }
  void record(Recorder& recorder, const Job& job, Nanoseconds begin, Nanoseconds end) const {
    stream->now = begin;
    recorder.begin(id, job);
    stream->now = end;
    recorder.end(id);
  }
  ScriptedStream* stream;
  StreamId id;
};

bool waitFor(const std::function<bool()>& condition) {
  const Nanoseconds limit = monotonicNow() + 10 * kNsPerSecond;
  while (!condition()) {
    if (monotonicNow() > limit) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

TEST(RecorderTest, AJobBecomesALineOfTheJobLog) {
  RecordedLog log;
  Recorder recorder(optionsFor(log));
  const Scripted compute(recorder, "compute");
  for (int i = 0; i < 41; ++i) recorder.nextJobId();
  compute.record(recorder,
                 {.kind = JobKind::kForward,
                  .microBatch = 2,
                  .step = 7,
                  .stage = 1,
                  .chunk = 0,
                  .action = "1F2"},
                 1697793307213760986, 1697793307254006104);
  recorder.close();
  EXPECT_THAT(log.lines(kInfo),
              ElementsAre("Job (2), type = forward, micro_batch_id = 2, job_start_time = "
                          "1697793307213.760986, job_end_time = 1697793307254.006104, id = 41, "
                          "step = 7, stage = 1, chunk = 0, stream = compute, action = 1F2"));
}

TEST(RecorderTest, ATransfersLineNamesPeerBytesAndItsJob) {
  RecordedLog log;
  Recorder recorder(optionsFor(log));
  const Scripted send(recorder, "send");
  send.stream->now = 1'000'000;
  EXPECT_EQ(recorder.begin(send.id, {.kind = JobKind::kSendForward,
                                     .microBatch = 3,
                                     .step = 7,
                                     .stage = 1,
                                     .peer = 2,
                                     .bytes = 10,
                                     .id = 41}),
            41);
  send.stream->now = 3'500'000;
  recorder.end(send.id, 4096);
  recorder.close();
  EXPECT_THAT(log.lines(kInfo), IsEmpty());
  EXPECT_THAT(log.lines(kStream),
              ElementsAre("type = send_forward, micro_batch_id = 3, start_time = 1.000000, "
                          "end_time = 3.500000, stream = send, peer = 2, bytes = 4096, job = 41, "
                          "step = 7, stage = 1"));
}

TEST(RecorderTest, AJobMayHaveBegunOrEndedBeforeItWasRecorded) {
  RecordedLog log;
  Recorder recorder(optionsFor(log));
  const Scripted send(recorder, "send");
  send.stream->now = 1'000;
  const DeviceStream::Mark first = recorder.mark(send.id);
  send.stream->now += 500;
  for (const DeviceStream::Mark mark : {first, recorder.mark(send.id)}) {
    recorder.begin(send.id, {.kind = JobKind::kSendForward, .step = 0});
    recorder.beganAt(send.id, mark);
    send.stream->now += 7'000;
    recorder.end(send.id);
  }
  recorder.begin(send.id, {.kind = JobKind::kSendForward, .step = 0});
  recorder.beganAt(send.id, 17'000);
  recorder.endAt(send.id, 18'000);
  recorder.beganAt(send.id, 1);  // no job is open
  recorder.close();
  EXPECT_THAT(log.lines(kStream), ElementsAre(HasSubstr("= 0.001000, end_time = 0.008500"),
                                              HasSubstr("= 0.001500, end_time = 0.015500"),
                                              HasSubstr("= 0.017000, end_time = 0.018000")));
}

TEST(RecorderTest, MetaComesFirstAndEndLast) {
  RecordedLog log;
  RecorderOptions options = optionsFor(log);
  options.info.schedule = "1F1B";
  options.info.worldSize = 1;
  Recorder recorder(options);
  const Scripted compute(recorder, "compute");
  compute.record(recorder, {.step = 0}, 1, 2);
  recorder.counter("loss", 2.5);
  recorder.close();
  recorder.close();
  const std::vector<std::string> lines = log.lines("Profiler ");
  ASSERT_THAT(lines, SizeIs(4));
  EXPECT_THAT(lines.front(), AllOf(StartsWith("Meta: version = 1, rank = 0, world_size = 1, host"),
                                   HasSubstr("schedule = 1F1B"), HasSubstr("clock = ")));
  EXPECT_THAT(lines.back(), StartsWith("End: written = 2, dropped = 0, errors = 0, "
                                       "late_starts = 7, own_cost_ns = "));
}

TEST(RecorderTest, PaddlePaddlesExpressionReadsEveryComputeJob) {
  RecordedLog log;
  Recorder recorder(optionsFor(log));
  const StreamId compute = recorder.addStream("compute", std::make_unique<CpuStream>());
  constexpr int kJobs = 200;
  for (int i = 0; i < kJobs; ++i) {
    const JobKind kind = i % 2 == 0 ? JobKind::kForward : JobKind::kBackwardInput;
    recorder.begin(compute, {.kind = kind, .microBatch = i, .step = i / 50});
    recorder.end(compute);
    if (i % 50 == 49) recorder.endStep(i / 50);
  }
  recorder.close();
  const std::regex expression(
      R"(.*?Profiler Info: Job \((\d+)\), type = (\w+), micro_batch_id = (\d+), )"
      R"(job_start_time = (\d+.\d+), job_end_time = (\d+.\d+))");
  const std::string text = log.text();
  int found = 0;
  std::string lastEnd = "0";
  for (std::sregex_iterator match(text.begin(), text.end(), expression), end; match != end;
       ++match) {
    EXPECT_EQ((*match)[1], std::to_string(found));
    EXPECT_EQ((*match)[2], found % 2 == 0 ? "forward" : "backward_input");
    EXPECT_EQ((*match)[3], std::to_string(found));
    // Same number of digits, so the order of texts is the order of times.
    EXPECT_GE((*match)[4].str(), lastEnd) << "jobs of the compute lane overlap";
    EXPECT_GE((*match)[5].str(), (*match)[4].str());
    lastEnd = (*match)[5];
    ++found;
  }
  EXPECT_EQ(found, kJobs);
}

TEST(RecorderTest, WithoutAnInvariantCounterTheRawClockIsUsed) {
  RecordedLog log;
  RecorderOptions options = optionsFor(log);
  options.ticks = TickSource::kMonotonicRaw;
  Recorder recorder(options);
  const StreamId compute = recorder.addStream("compute", std::make_unique<CpuStream>());
  const Nanoseconds before = recorder.clock().at(monotonicNow()) / kNsPerMs;
  for (int i = 0; i < 3; ++i) {
    recorder.begin(compute, {.step = 0});
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    recorder.end(compute);
  }
  const Nanoseconds after = recorder.clock().at(monotonicNow()) / kNsPerMs;
  recorder.close();
  EXPECT_THAT(log.lines("Profiler Meta: "), ElementsAre(HasSubstr("clock = monotonic_raw")));
  ASSERT_THAT(log.lines(kInfo), SizeIs(3));
  EXPECT_GE(log.number(kInfo, "job_start_time"), before + 2 * 2 - 1);
  EXPECT_GE(log.number(kInfo, "job_end_time"), log.number(kInfo, "job_start_time") + 1);
  EXPECT_LE(log.number(kInfo, "job_end_time"), after + 1);
}

TEST(RecorderTest, AStepsLinesOfAllStreamsAreSortedByStart) {
  RecordedLog log;
  Recorder recorder(optionsFor(log));
  const Scripted compute(recorder, "compute");
  const Scripted recv(recorder, "recv");
  compute.record(recorder, {.microBatch = 1, .step = 0}, 20, 30);
  compute.record(recorder, {.microBatch = 2, .step = 0}, 40, 50);
  recv.record(recorder, {.kind = JobKind::kRecvForward, .microBatch = 3, .step = 0}, 5, 10);
  recv.record(recorder, {.kind = JobKind::kRecvForward, .microBatch = 4, .step = 0}, 35, 39);
  recorder.endStep(0);
  recorder.close();
  std::vector<char> order;
  for (const std::string& line : log.lines("micro_batch_id = ")) order.push_back(line[0]);
  EXPECT_THAT(order, ElementsAre('3', '1', '4', '2'));
}

TEST(RecorderTest, AStepIsHeldUntilItEnds) {
  RecordedLog log;
  RecorderOptions options = optionsFor(log);
  options.holdLimit = 100 * kNsPerSecond;
  Recorder recorder(options);
  const Scripted compute(recorder, "compute");
  compute.record(recorder, {.step = 0}, 1, 2);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_THAT(log.lines(kInfo), IsEmpty());
  compute.record(recorder, {.step = 0}, 3, 4);
  recorder.endStep(0);
  compute.record(recorder, {.step = 1}, 5, 6);
  EXPECT_TRUE(waitFor([&] { return log.lines(kInfo).size() == 2; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_THAT(log.lines(kInfo), SizeIs(2)) << "step 1 has not ended";
  recorder.close();
  EXPECT_THAT(log.lines(kInfo), SizeIs(3));
}

TEST(RecorderTest, AStepThatHasEndedWaitsForTheTimesOfItsLastJobs) {
  RecordedLog log;
  RecorderOptions options = optionsFor(log);
  options.holdLimit = 100 * kNsPerSecond;
  Recorder recorder(options);
  const Scripted compute(recorder, "compute");
  compute.stream->known = 3;
  compute.record(recorder, {.step = 0}, 1, 2);
  compute.record(recorder, {.step = 0}, 3, 4);
  recorder.endStep(0);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_THAT(log.lines(kInfo), IsEmpty());
  compute.stream->known = 4;
  EXPECT_TRUE(waitFor([&] { return log.lines(kInfo).size() == 2; }));
}

TEST(RecorderTest, AStepThatDoesNotEndIsWrittenAfterTheHoldLimit) {
  RecordedLog log;
  RecorderOptions options = optionsFor(log);
  options.holdLimit = 300 * kNsPerMs;
  Recorder recorder(options);
  const Scripted compute(recorder, "compute");
  const Nanoseconds start = monotonicNow();
  compute.record(recorder, {.step = 0}, 3, 4);
  compute.record(recorder, {.step = 0}, 1, 2);
  recorder.counter("memory", 1, "bytes");
  EXPECT_TRUE(waitFor([&] { return log.lines(kInfo).size() == 2; }));
  EXPECT_GE(monotonicNow() - start, options.holdLimit);
  EXPECT_THAT(log.lines("job_start_time = "),
              ElementsAre(StartsWith("0.000001"), StartsWith("0.000003")));
  EXPECT_TRUE(waitFor([&] { return log.lines("Profiler Counter: ").size() == 1; }));
}

TEST(RecorderTest, FlushWritesWhatWasRecordedAndRecordingGoesOn) {
  RecordedLog log;
  Recorder recorder(optionsFor(log));
  const Scripted compute(recorder, "compute");
  compute.record(recorder, {.step = 0}, 1, 2);
  recorder.flush();
  EXPECT_THAT(log.lines(kInfo), SizeIs(1));
  compute.record(recorder, {.step = 0}, 3, 4);
  recorder.flush();
  EXPECT_THAT(log.lines(kInfo), SizeIs(2));
  EXPECT_THAT(log.lines(kEnd), IsEmpty());
}

TEST(RecorderTest, ACounterIsWrittenWithItsUnitAndTheTimeOfTheCall) {
  RecordedLog log;
  Recorder recorder(optionsFor(log));
  const Nanoseconds before = WallClock::read().at(monotonicNow()) / kNsPerMs;
  recorder.counter("memory", 1.5e9, "bytes");
  recorder.close();
  const std::vector<std::string> lines = log.lines("Profiler Counter: ");
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_THAT(lines[0], AllOf(StartsWith("name = memory, time = "),
                              HasSubstr(", value = 1.5e+09, unit = bytes")));
  EXPECT_NEAR(static_cast<double>(log.number("Profiler Counter: ", "time") - before), 0, 1000);
}

TEST(RecorderTest, StreamsAreRecordedFromTheirOwnThreads) {
  RecordedLog log;
  Recorder recorder(optionsFor(log));
  constexpr int kJobs = 5000;
  const StreamId compute = recorder.addStream("compute", std::make_unique<CpuStream>());
  const StreamId send = recorder.addStream("send", std::make_unique<CpuStream>());
  const auto record = [&](StreamId stream, JobKind kind) {
    for (int i = 0; i < kJobs; ++i) {
      recorder.begin(stream, {.kind = kind, .microBatch = i, .step = i / 100});
      recorder.end(stream);
      recorder.counter("depth", i);
      if (stream == compute && i % 100 == 99) recorder.endStep(i / 100);
    }
  };
  std::thread sender([&] { record(send, JobKind::kSendForward); });
  record(compute, JobKind::kForward);
  sender.join();
  recorder.close();
  EXPECT_THAT(log.lines(kInfo), SizeIs(kJobs));
  EXPECT_THAT(log.lines(kStream), SizeIs(kJobs));
  EXPECT_EQ(log.number(kEnd, "written") + log.number(kEnd, "dropped"), 4 * kJobs);
}

TEST(RecorderTest, IdsAreNeverHandedOutTwice) {
  RecordedLog log;
  Recorder recorder(optionsFor(log));
  const Scripted compute(recorder, "compute");
  const std::int64_t drawn = recorder.nextJobId();
  const std::int64_t own = recorder.begin(compute.id, {});
  recorder.end(compute.id);
  EXPECT_NE(own, drawn);
  EXPECT_EQ(recorder.begin(compute.id, {.id = drawn}), drawn);
  recorder.end(compute.id);
  EXPECT_GT(recorder.nextJobId(), own);
}

TEST(RecorderTest, ASecondRunIsAppendedWithAMetaOfItsOwn) {
  RecordedLog log;
  for (int run = 0; run < 2; ++run) Recorder(optionsFor(log)).close();
  EXPECT_THAT(log.lines("Profiler Meta: "), SizeIs(2));
}

TEST(RecorderTest, ALogHasOneOpenRecorderAndALaterOneBeginsAnotherRun) {
  RecordedLog log;
  RecorderOptions options;
  options.logDirectory = log.folder();
  Recorder first(options);
  try {
    Recorder second(options);
    FAIL() << "the log has a recorder";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr(log.path()), HasSubstr("another recorder")));
  }
  first.close();
  Recorder second(options);
  second.close();
  EXPECT_THAT(log.lines("Profiler Meta: "), SizeIs(2));
  EXPECT_THAT(log.lines("Profiler End: "), SizeIs(2));
}

TEST(RecorderTest, AMissingLogFolderIsMade) {
  RecordedLog log;
  RecorderOptions options = optionsFor(log);
  options.logDirectory = log.folder() + "/a b/logs";
  Recorder(options).close();
  EXPECT_TRUE(std::filesystem::exists(log.folder() + "/a b/logs/workerlog.0"));
}

TEST(RecorderTest, TheLogFolderIsLogsUnlessOneIsGiven) {
  const RecordedLog log;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(log.folder());
  Recorder recorder({});
  std::filesystem::current_path(before);  // the program goes elsewhere
  EXPECT_EQ(recorder.logPath(),
            std::filesystem::canonical(log.folder() + "/logs/workerlog.0").string());
  recorder.close();
  EXPECT_TRUE(std::filesystem::exists(log.folder() + "/logs/workerlog.0"));
  EXPECT_FALSE(std::filesystem::exists(log.folder() + "/logs/workerlog.0.ring"));
}

TEST(RecorderTest, AScopeRecordsAJobHoweverItsBlockIsLeft) {
  RecordedLog log;
  Recorder recorder(optionsFor(log));
  const StreamId compute = recorder.addStream("compute", std::make_unique<CpuStream>());
  try {
    const JobScope job(recorder, compute, {.kind = JobKind::kBackward, .microBatch = 3});
    EXPECT_EQ(job.id(), recorder.openJob());
    throw Error("out of memory");
  } catch (const Error&) {
  }
  { const JobScope job(recorder, compute, {.kind = JobKind::kForward}); }
  recorder.close();
  EXPECT_THAT(log.lines(kInfo), ElementsAre(StartsWith("Job (3), type = backward"),
                                            StartsWith("Job (0), type = forward")));
  EXPECT_EQ(log.number(kEnd, "errors"), 0);
  Recorder off({.isOn = false});
  const JobScope nothing(off, 0, {});
  EXPECT_EQ(nothing.id(), kNotGiven);
}

TEST(RecorderTest, TooManyOrEquallyNamedStreamsAreRefused) {
  RecordedLog log;
  Recorder recorder(optionsFor(log));
  for (int i = 0; i < 64; ++i) {
    recorder.addStream("s" + std::to_string(i), std::make_unique<CpuStream>());
  }
  EXPECT_THROW(recorder.addStream("one too many", std::make_unique<CpuStream>()), Error);
  recorder.close();
  Recorder other(optionsFor(log));
  other.addStream("send", std::make_unique<CpuStream>());
  EXPECT_THROW(other.addStream("send", std::make_unique<CpuStream>()), Error);
}

}  // namespace
}  // namespace pipetrace
