// Recordings when something goes wrong.
#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <ctime>
#include <thread>

#include "profiler/cpu_stream.h"
#include "profiler/emulated_stream.h"
#include "profiler/testing/recorder_fixture.h"
#include "profiler/testing/resource_limit.h"
#include "profiler/testing/scripted_stream.h"
#include "trace/error.h"
#include "trace/log/ring_format.h"

namespace pipetrace {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

/// The header of the ring file beside the log.
ring_format::FileHeader ringHeader(const RecordedLog& log) {
  ring_format::FileHeader header{};
  std::ifstream in(log.path() + std::string(ring_format::kFileSuffix), std::ios::binary);
  in.read(reinterpret_cast<char*>(&header), sizeof(header));
  EXPECT_EQ(header.magic, ring_format::kMagic);
  return header;
}

TEST(RecorderLossTest, JobsThatFindTheRingFullAreCounted) {
  RecordedLog log;
  RecorderOptions options = optionsFor(log);
  options.ringSlots = 8;
  Recorder recorder(options);
  auto owned = std::make_unique<ScriptedStream>();
  ScriptedStream& stream = *owned;
  const StreamId compute = recorder.addStream("compute", std::move(owned));
  stream.known = -1;  // the device does not answer, so nothing leaves the ring
  for (int i = 0; i < 20; ++i) {
    recorder.begin(compute, {.microBatch = i});
    recorder.end(compute);
  }
  stream.known = kNsMax;
  recorder.close();
  EXPECT_THAT(log.lines(kInfo), SizeIs(8));
  EXPECT_EQ(log.number(kEnd, "written"), 8);
  EXPECT_EQ(log.number(kEnd, "dropped"), 12);
  EXPECT_EQ(log.number(kEnd, "errors"), 0);
}

TEST(RecorderLossTest, SamplesThatFindNoRoomAreCounted) {
  constexpr int kSamples = static_cast<int>(ring_format::kCounters) + 500;
  RecordedLog log;
  Recorder recorder(optionsFor(log));
  std::atomic<int> asked = 0;
  std::atomic<bool> goesOn = false;
  recorder.addCounter("holds the log thread", "", [&] {
    ++asked;
    while (!goesOn) std::this_thread::yield();
    return 0.0;
  });
  while (asked == 0) std::this_thread::yield();
  for (int i = 0; i < kSamples; ++i) recorder.counter("loss", i);
  goesOn = true;
  recorder.close();
  EXPECT_GE(log.number(kEnd, "dropped"), 500);
  EXPECT_EQ(log.number(kEnd, "written") + log.number(kEnd, "dropped"), kSamples + asked);
}

TEST(RecorderLossTest, ADeviceThatNeverAnswersDoesNotHangTheEnd) {
  RecordedLog log;
  Recorder recorder(optionsFor(log));
  auto owned = std::make_unique<ScriptedStream>();
  owned->known = -1;
  const StreamId compute = recorder.addStream("compute", std::move(owned));
  recorder.begin(compute, {});
  recorder.end(compute);
  recorder.close();
  EXPECT_EQ(log.number(kEnd, "written"), 0);
  EXPECT_EQ(log.number(kEnd, "dropped"), 1);
}

TEST(RecorderLossTest, CallsOutOfOrderAreCountedAsErrors) {
  RecordedLog log;
  Recorder recorder(optionsFor(log));
  const StreamId compute = recorder.addStream("compute", std::make_unique<CpuStream>());
  recorder.end(compute);                       // nothing is open
  recorder.begin(compute, {.microBatch = 1});  // given up by
  recorder.begin(compute, {.microBatch = 2});  // this one
  recorder.end(compute);
  recorder.begin(compute + 1, {});             // no such stream
  recorder.end(-1);                            // no such stream
  recorder.begin(compute, {.microBatch = 3});  // never ended
  recorder.close();
  EXPECT_THAT(log.lines("Job (2)"), SizeIs(1));
  EXPECT_THAT(log.lines(kInfo), SizeIs(1));
  EXPECT_EQ(log.number(kEnd, "written"), 1);
  EXPECT_EQ(log.number(kEnd, "errors"), 5);
  EXPECT_EQ(log.number(kEnd, "misuses"), 5);
  EXPECT_EQ(log.number(kEnd, "failed_writes"), -1) << "left out";
}

TEST(RecorderLossTest, AFullDiskLosesLinesAndNothingElse) {
  RecordedLog log;
  Recorder recorder(optionsFor(log));
  const StreamId compute = recorder.addStream("compute", std::make_unique<CpuStream>());
  const auto recordStep = [&](int step, int jobs) {
    for (int i = 0; i < jobs; ++i) {
      recorder.begin(compute, {.step = step, .stage = 0, .action = "0F0"});
      recorder.end(compute);
    }
    recorder.endStep(step);
    recorder.flush();
  };
  testing::internal::CaptureStderr();
  {
    const FileSizeLimit limit(20'000);
    recordStep(0, 50);
    recordStep(1, 100);  // hits the limit in the middle of a line
    recordStep(2, 10);
  }
  recordStep(3, 10);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, AllOf(HasSubstr(log.path()), HasSubstr("File too large")));
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1)
      << "reported once, while the program runs";
  const auto lost = static_cast<long long>(ringHeader(log).linesLost);
  EXPECT_THAT(messageOf([&] { recorder.close(); }),
              AllOf(HasSubstr(log.path()), HasSubstr("File too large"), HasSubstr("lost "),
                    HasSubstr("can still be read")));
  const std::vector<std::string> lines = log.lines(kInfo);
  EXPECT_GT(lines.size(), 60u);
  EXPECT_LT(lines.size(), 170u);
  for (const std::string& line : lines) EXPECT_THAT(line, HasSubstr("action = 0F0"));
  EXPECT_THAT(log.lines("step = 3"), SizeIs(10)) << "recording goes on when there is room again";
  EXPECT_EQ(log.number(kEnd, "written"), static_cast<long long>(lines.size()));
  EXPECT_EQ(log.number(kEnd, "written") + log.number(kEnd, "dropped"), 170);
  EXPECT_GE(log.number(kEnd, "errors"), 2);
  EXPECT_EQ(log.number(kEnd, "failed_writes"), log.number(kEnd, "errors"));
  EXPECT_EQ(log.number(kEnd, "dropped"), lost) << "as the ring file said before the end";
}

TEST(RecorderLossTest, LossesThatTheDestructorFindsAreReported) {
  RecordedLog log;
  testing::internal::CaptureStderr();
  {
    Recorder recorder(optionsFor(log));
    const StreamId compute = recorder.addStream("compute", std::make_unique<CpuStream>());
    const FileSizeLimit limit(log.text().size());
    recorder.begin(compute, {});
    recorder.end(compute);
    recorder.flush();
  }
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, HasSubstr("pipetrace: cannot write the job log " + log.path()));
  EXPECT_THAT(said, HasSubstr("pipetrace: lost 1 lines of the job log " + log.path()));
}

TEST(RecorderLossTest, WithoutRoomForAStreamThereIsNoRingFileFromTheStart) {
  RecordedLog log;
  testing::internal::CaptureStderr();
  {
    const FileSizeLimit limit(400'000);  // enough for the pieces before the first stream
    Recorder recorder(optionsFor(log));
    EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("no ring file"));
    recorder.addStream("compute", std::make_unique<CpuStream>());
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(log.folder()), {}), 1);
  }
  EXPECT_THAT(log.lines("Profiler Meta: "), Not(Contains(HasSubstr("ring"))));
}

TEST(RecorderLossTest, TheRingFileIsRemovedFromAFolderThatWasMoved) {
  RecordedLog log;
  RecorderOptions options = optionsFor(log);
  options.logDirectory = log.folder() + "/logs";
  Recorder recorder(options);
  std::filesystem::rename(options.logDirectory, log.folder() + "/moved");
  EXPECT_TRUE(std::filesystem::exists(log.folder() + "/moved/workerlog.0.ring"));
  recorder.close();
  EXPECT_FALSE(std::filesystem::exists(log.folder() + "/moved/workerlog.0.ring"));
}

TEST(RecorderLossTest, ARingFileThatCannotBeDeletedIsEmptied) {
  RecordedLog log;
  Recorder recorder(optionsFor(log));
  const StreamId compute = recorder.addStream("compute", std::make_unique<CpuStream>());
  // A folder in its place cannot be unlinked, not even by root, who may unlink files in a read-only
  // folder.
  const std::string ring = log.path() + ".ring";
  std::filesystem::rename(ring, log.folder() + "/ring");
  std::filesystem::create_directory(ring);
  recorder.begin(compute, {});
  recorder.end(compute);
  recorder.close();
  EXPECT_EQ(std::filesystem::file_size(log.folder() + "/ring"), 0u);
  EXPECT_EQ(log.number(kEnd, "written"), 1);
  recorder.begin(compute, {});  // its memory is still there
}

TEST(RecorderLossTest, WithoutRoomForARingFileRecordingGoesOnInMemory) {
  RecordedLog log;
  testing::internal::CaptureStderr();
  std::unique_ptr<Recorder> recorder;
  StreamId compute = 0;
  {
    const FileSizeLimit limit(100'000);
    recorder = std::make_unique<Recorder>(optionsFor(log));
    compute = recorder->addStream("compute", std::make_unique<CpuStream>());
    recorder->addStream("send", std::make_unique<CpuStream>());
  }
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, AllOf(HasSubstr("no ring file"), HasSubstr(".ring: File too large")));
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << "reported once";
  for (int i = 0; i < 100; ++i) {
    recorder->begin(compute, {});
    recorder->end(compute);
  }
  EXPECT_THAT(log.lines("Profiler Meta: ").at(0), Not(HasSubstr("ring")));
  recorder->close();
  EXPECT_THAT(log.lines(kInfo), SizeIs(100));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(log.folder()), {}), 1);
}

TEST(RecorderLossTest, AStreamWithoutRoomInTheRingFileIsKeptInMemory) {
  RecordedLog log;
  Recorder recorder(optionsFor(log));
  const StreamId compute = recorder.addStream("compute", std::make_unique<CpuStream>());
  testing::internal::CaptureStderr();
  StreamId send = 0;
  {
    const FileSizeLimit limit(1'000'000);  // less than is in use already
    send = recorder.addStream("send", std::make_unique<CpuStream>());
  }
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("File too large"));
  EXPECT_EQ(ringHeader(log).lanesNotKept, 1U) << "for a reader of the files that a kill has left";
  for (const StreamId stream : {compute, send}) {
    recorder.begin(stream, {});
    recorder.end(stream);
  }
  recorder.close();
  EXPECT_EQ(log.number(kEnd, "written"), 2);
}

TEST(RecorderLossTest, ALogFolderThatVanishesIsReportedAtTheEndAndHarmsNothing) {
  RecordedLog log;
  RecorderOptions options = optionsFor(log);
  options.logDirectory = log.folder() + "/logs";
  Recorder recorder(options);
  const StreamId compute = recorder.addStream("compute", std::make_unique<CpuStream>());
  const auto record = [&](int jobs) {
    for (int i = 0; i < jobs; ++i) {
      recorder.begin(compute, {});
      recorder.end(compute);
    }
    recorder.flush();
  };
  record(10);
  std::filesystem::remove_all(options.logDirectory);
  testing::internal::CaptureStderr();
  record(40'000);  // more than a lap of the ring
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              AllOf(HasSubstr("workerlog.0"), HasSubstr("it was deleted")));
  EXPECT_THAT(messageOf([&] { recorder.close(); }),
              AllOf(HasSubstr("workerlog.0"), HasSubstr("was deleted"),
                    testing::MatchesRegex(".*with all its [0-9]{2,} lines.*"),
                    Not(HasSubstr("can still be read"))));
}

TEST(RecorderLossTest, ALogThatCannotBeOpenedOrWrittenIsRefusedAtOnce) {
  RecordedLog log;
  const auto before = std::signal(SIGXFSZ, SIG_IGN);
  {
    const FileSizeLimit full(0);
    EXPECT_THAT(messageOf([&] { Recorder recorder(optionsFor(log)); }),
                AllOf(HasSubstr(log.path()), HasSubstr("File too large")));
  }
  std::signal(SIGXFSZ, before);
  RecorderOptions options = optionsFor(log);
  options.logDirectory = log.path() + "/logs";  // below something that is no folder
  EXPECT_THAT(messageOf([&] { Recorder recorder(options); }), HasSubstr(options.logDirectory));
}

TEST(RecorderLossTest, TheReportedCostIsThatOfTheCalls) {
  /// Each mark takes 20 us, so a call costs at least that.
  class SlowStream : public EmulatedStream {
   public:
    Mark mark() noexcept override {
      const Nanoseconds until = monotonicNow() + 20 * kNsPerUs;
      while (monotonicNow() < until) {
      }
      return EmulatedStream::mark();
    }
    Mark markStart() noexcept override { return mark(); }
  };
  // A timed call that the system interrupts stands for 64: on a busy machine a try may fail.
  constexpr int kJobs = 640;
  double most = 10;
  for (int attempt = 0; attempt < 8 && most > 1.5; ++attempt) {
    RecordedLog log;
    Recorder recorder(optionsFor(log));
    const StreamId compute = recorder.addStream("compute", std::make_unique<SlowStream>());
    const Nanoseconds start = monotonicNow();
    for (int i = 0; i < kJobs; ++i) {
      recorder.begin(compute, {});
      recorder.end(compute);
    }
    const Nanoseconds took = monotonicNow() - start;
    recorder.close();
    const long long said = log.number(kEnd, "own_cost_ns");
    EXPECT_GE(said, 2 * kJobs * 20 * kNsPerUs * 99 / 100);
    most = std::min(most, static_cast<double>(said) / static_cast<double>(took));
  }
  EXPECT_LE(most, 1.5);
}

TEST(RecorderLossTest, TheLogThreadsTimeIsItsProcessorTime) {
  RecordedLog log;
  Recorder recorder(optionsFor(log));
  std::atomic<Nanoseconds> spent = 0;
  recorder.addCounter("work", "", [&] {
    timespec time{};
    do {
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    } while (time.tv_sec == 0 && time.tv_nsec < 5 * kNsPerMs);
    spent = time.tv_sec * kNsPerSecond + time.tv_nsec;
    return 0.0;
  });
  recorder.close();
  EXPECT_GE(log.number(kEnd, "log_thread_ns"), spent);
  EXPECT_GT(spent, 0);
}

TEST(RecorderLossTest, AnInterruptionIsNotCountedAsACostOfRecording) {
  /// One mark in the middle takes 20 ms, in a call that is timed and stands for 64.
  class InterruptedStream : public EmulatedStream {
   public:
    Mark mark() noexcept override {
      constexpr int kTimedJob = 32 + 64;
      if (marks_++ == 2 * kTimedJob) std::this_thread::sleep_for(std::chrono::milliseconds(20));
      return EmulatedStream::mark();
    }
    Mark markStart() noexcept override { return mark(); }

   private:
    int marks_ = 0;
  };
  RecordedLog log;
  Recorder recorder(optionsFor(log));
  const StreamId compute = recorder.addStream("compute", std::make_unique<InterruptedStream>());
  for (int i = 0; i < 640; ++i) {
    recorder.begin(compute, {});
    recorder.end(compute);
  }
  recorder.close();
  // Counted, it would be 64 times 20 ms.
  EXPECT_LT(log.number(kEnd, "own_cost_ns"), 640 * kNsPerMs);
  EXPECT_GT(log.number(kEnd, "own_cost_ns"), 0);
}

}  // namespace
}  // namespace pipetrace
