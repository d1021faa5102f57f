#include "profiler/log/pending_lines.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <string>
#include <thread>

#include "profiler/cpu_stream.h"
#include "profiler/testing/recorder_fixture.h"

namespace pipetrace {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

constexpr std::uint32_t kRingSlots = 64;

/// A recorder without its thread: a test says when jobs are recorded, and when their lines are
/// added.
struct Lines {
  explicit Lines(const std::string& path) : file(path), writer(1), lines(writer, file, state) {
    state.lanes[0] = std::make_unique<Lane>(
        Lane::Options{.name = "compute", .isCompute = true, .slots = kRingSlots, .source = kTicks},
        std::make_unique<CpuStream>(), state.file);
    state.laneCount = 1;
  }

  Lane& lane() { return state.laneAt(0); }
  void record(int jobs) {
    for (int i = 0; i < jobs; ++i) {
      lane().begin({}, next++, 0);
      lane().end(kNotGiven);
    }
  }
  /// The lines of the next jobs.
  void add(int jobs, Nanoseconds now) {
    lines.setNow(now);
    for (int i = 0; i < jobs; ++i) {
      lines.add({.begin = 1, .end = 2, .slot = lane().take(1, 2), .lane = 0});
    }
  }

  static constexpr TickSource kTicks = TickSource::kMonotonicRaw;
  std::int64_t next = 0;
  RecordingState state{"", kRingSlots, kTicks, {}};
  LogFile file;
  LogWriter writer;
  PendingLines lines;
};

TEST(PendingLinesTest, AFewLinesWaitForOthersButNotForLong) {
  RecordedLog log;
  Lines test(log.path());
  test.record(kRingSlots);
  test.add(63, 0);
  test.lines.writeOld();
  EXPECT_THAT(log.lines(kInfo), IsEmpty());
  test.add(1, PendingLines::kPatience - 1);
  test.lines.writeOld();
  EXPECT_THAT(log.lines(kInfo), SizeIs(64));

  test.record(1);
  test.add(1, kNsPerSecond);
  test.lines.writeOld();
  test.lines.setNow(kNsPerSecond + 100 * kNsPerMs - 1);
  test.lines.writeOld();
  EXPECT_THAT(log.lines(kInfo), SizeIs(64));
  test.lines.setNow(kNsPerSecond + 100 * kNsPerMs);
  test.lines.writeOld();
  EXPECT_THAT(log.lines(kInfo), SizeIs(65));
  EXPECT_EQ(test.lines.written(), 65);
}

TEST(PendingLinesTest, LinesThatComeAtOnceAreWrittenAFewHundredAtATime) {
  RecordedLog log;
  Lines test(log.path());
  test.lines.setNow(0);
  for (int i = 0; i < 513; ++i) {
    test.state.counters.push({.value = 1});
    test.lines.add(*test.state.counters.take());
  }
  EXPECT_EQ(test.lines.written(), 512);
}

TEST(PendingLinesTest, AJobKeepsItsSlotUntilItsLineIsWritten) {
  RecordedLog log;
  ASSERT_EQ(mkfifo(log.path().c_str(), 0600), 0);
  const int reader = open(log.path().c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  Lines test(log.path());
  const int room = fcntl(reader, F_SETPIPE_SZ, 4096);
  ASSERT_GT(room, 0);
  test.record(kRingSlots);
  test.state.counters.push({.value = 1});
  test.add(kRingSlots, 0);
  test.lines.add(*test.state.counters.take());
  // Until somebody reads, the write cannot return.
  std::thread logThread([&] { test.lines.writeAll(); });
  for (int bytes = 0; bytes < room / 2;) ASSERT_EQ(ioctl(reader, FIONREAD, &bytes), 0);
  test.record(1);
  EXPECT_EQ(test.lane().dropped(), 1) << "no slot of a job that is not in the log is used again";
  EXPECT_EQ(std::atomic_ref(test.state.front.header().countersFreed).load(), 0u);
  std::string text;
  std::array<char, 4096> some{};
  while (std::count(text.begin(), text.end(), '\n') < static_cast<long>(kRingSlots) + 1) {
    const ssize_t n = read(reader, some.data(), some.size());
    if (n > 0) text.append(some.data(), static_cast<std::size_t>(n));
  }
  logThread.join();
  close(reader);
  test.record(1);
  EXPECT_EQ(test.lane().dropped(), 1) << "and then they are";
  EXPECT_EQ(test.state.front.header().countersFreed, 1u);
}

}  // namespace
}  // namespace pipetrace
