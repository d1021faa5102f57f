// The ring file of a process that records as fast as it can: every job that is read is whole.
#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "parser/ring/log_rings.h"
#include "parser/ring/ring_contents.h"
#include "profiler/cpu_stream.h"
#include "profiler/ring/lane.h"
#include "profiler/ring/ring_file.h"
#include "profiler/testing/recorded_log.h"
#include "tests/recording/left_over.h"
#include "tests/recording/numbered_jobs.h"

namespace pipetrace {
namespace {

constexpr std::size_t kSlots = 4096;

/// One lane that is full: as soon as a job is given back, its slot is that of the next one, which
/// takes a while. Jobs are written nowhere.
class BusyRing {
 public:
  BusyRing() {
    front_.noteLane(0, lane_.offsetInFile());
    front_.finish("version = 1, rank = 0");
    recording_ = std::thread([this] { record(); });
  }
  ~BusyRing() {
    stop_ = true;
    recording_.join();
  }
  BusyRing(const BusyRing&) = delete;
  BusyRing& operator=(const BusyRing&) = delete;

  const RecordedLog log;
  const std::string path = log.folder() + "/workerlog.0";

 private:
  void record() {
    for (std::int64_t n = 0; !stop_; ++n) {
      if (n >= static_cast<std::int64_t>(kSlots)) {
        lane_.release(static_cast<std::uint32_t>(n) & (kSlots - 1));
        lane_.giveBack();
      }
      const Job job = jobOf(0, n);
      lane_.begin(job, n, job.step);
      const Nanoseconds end = monotonicNow() + kNsPerUs;
      while (monotonicNow() < end) continue;
      lane_.end(kNotGiven);
      lane_.take(n + 1, n + 2);
    }
  }

  const HostClock clock_;
  RingFile file_{path};
  RingFront front_{file_, kSlots, 0, clock_};
  Lane lane_{{.name = "compute", .isCompute = true, .slots = kSlots, .source = clock_.source()},
             std::make_unique<CpuStream>(),
             file_};
  std::atomic<bool> stop_ = false;
  std::thread recording_;
};

TEST(RingSnapshotTest, NoJobIsTornHoweverFastItsSlotIsUsedAgain) {
  BusyRing ring;
  std::size_t jobs = 0;
  for (int i = 0; i < 60; ++i) {
    ByteSource source(ring.path + ".ring");
    const RingSnapshot snapshot(source);
    std::string whyNot;
    const auto contents = readRing(snapshot.bytes(), whyNot);
    ASSERT_TRUE(contents.has_value()) << whyNot;
    jobs += contents->jobs.size();
    for (const RingContents::Job& job : contents->jobs) {
      const Job expected = jobOf(0, job.line.job);
      ASSERT_EQ(job.line.microBatch, expected.microBatch) << job.line.job;
      ASSERT_EQ(job.line.step, expected.step) << job.line.job;
      ASSERT_EQ(job.line.stage, expected.stage) << job.line.job;
      ASSERT_EQ(job.line.chunk, expected.chunk) << job.line.job;
      if (!job.isInLogPossibly) continue;
      ASSERT_EQ(job.line.begin, job.line.job + 1);
      ASSERT_EQ(job.line.end, job.line.job + 2);
    }
  }
  EXPECT_GT(jobs, 0u);
}

TEST(RingSnapshotTest, AJobThatGetsItsTimesOrLeavesTheRingBeforeTheLogIsReadIsNoticed) {
  LeftOver left;
  for (int i = 5; i < 9; ++i) left.job(left.compute, i);
  left.die();
  const std::size_t lane = left.laneAt(0);
  const auto timesAt = [&](int n) {
    return lane + sizeof(ring_format::LaneHeader) + 64 * sizeof(ring_format::Slot) +
           static_cast<std::size_t>(n) * sizeof(ring_format::Times);
  };
  const auto freedAt = lane + offsetof(ring_format::LaneHeader, freed);
  for (int n = 0; n < 4; ++n) left.poke(timesAt(n), ring_format::Times{});
  ByteSource source(left.ring);
  RingSnapshot snapshot(source);
  EXPECT_FALSE(snapshot.settle()) << "nothing has changed";

  left.poke(freedAt, std::uint64_t{1});
  left.poke(timesAt(1), ring_format::Times{.begin = 10, .end = 20, .sequence = 2, .reserved = 0});
  EXPECT_TRUE(snapshot.settle()) << "the first has left: the log is to be read on";
  left.poke(freedAt, std::uint64_t{2});
  EXPECT_FALSE(snapshot.settle()) << "the second may be in the log, which has its times";

  std::string whyNot;
  const auto contents = readRing(snapshot.bytes(), whyNot);
  ASSERT_EQ(contents->jobs.size(), 3u) << whyNot;
  EXPECT_EQ(contents->jobs[0].line.job, 6);
  EXPECT_EQ(contents->jobs[0].line.begin, 10);
  EXPECT_TRUE(contents->jobs[0].isInLogPossibly);
  EXPECT_EQ(contents->jobs[1].line.job, 7);
  EXPECT_FALSE(contents->jobs[1].isInLogPossibly);
}

}  // namespace
}  // namespace pipetrace
