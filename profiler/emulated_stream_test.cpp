#include "profiler/emulated_stream.h"

#include <gmock/gmock.h>

#include <cmath>
#include <ctime>

namespace pipetrace {
namespace {

Nanoseconds threadCpuTime() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec * kNsPerSecond + time.tv_nsec;
}

TEST(EmulatedStreamTest, ManyJobsTogetherTakeTheirTimeWithoutDrift) {
  // A busy machine may wake the last job late; lateness that adds up would show in every try.
  constexpr int kJobs = 100;
  constexpr Nanoseconds kDuration = 2 * kNsPerMs;
  double best = 1;
  for (int attempt = 0; attempt < 8 && best > 0.005; ++attempt) {
    EmulatedStream stream;
    const Nanoseconds origin = monotonicNow();
    stream.setOrigin(origin);
    for (int i = 0; i < kJobs; ++i) stream.run(EmulatedStream::kNoArrival, kDuration);
    EXPECT_EQ(stream.deadline(), origin + kJobs * kDuration);
    const auto took = static_cast<double>(monotonicNow() - origin);
    EXPECT_GE(took, kJobs * kDuration);
    best = std::min(best, took / static_cast<double>(kJobs * kDuration) - 1);
  }
  EXPECT_LE(best, 0.005);
}

TEST(EmulatedStreamTest, AJobNeverEndsBeforeItsDeadline) {
  EmulatedStream stream;
  for (int i = 0; i < 20; ++i) {
    const Nanoseconds deadline = stream.run(EmulatedStream::kNoArrival, 300 * kNsPerUs);
    EXPECT_GE(monotonicNow(), deadline);
    EXPECT_EQ(static_cast<Nanoseconds>(stream.mark()), deadline);
  }
}

TEST(EmulatedStreamTest, AJobEndsAtItsDeadlineThoughItsThreadWakesLater) {
  EmulatedStream stream;
  stream.setOrigin(monotonicNow());
  stream.markStart();
  const Nanoseconds deadline = stream.start(EmulatedStream::kNoArrival, kNsPerMs);
  EmulatedStream::waitUntil(deadline + kNsPerMs);
  EXPECT_EQ(static_cast<Nanoseconds>(stream.mark()), deadline);
}

TEST(EmulatedStreamTest, AJobThatWasSleptThroughHasItsTimes) {
  EmulatedStream stream;
  const Nanoseconds origin = monotonicNow() - kNsPerSecond;
  stream.setOrigin(origin);
  EXPECT_EQ(static_cast<Nanoseconds>(stream.markStart()), origin);
  stream.run(EmulatedStream::kNoArrival, kNsPerMs);
  EXPECT_EQ(static_cast<Nanoseconds>(stream.mark()), origin + kNsPerMs);
  stream.awaitStart(origin + 3 * kNsPerMs);
  EXPECT_EQ(static_cast<Nanoseconds>(stream.markStart()), origin + 3 * kNsPerMs);
}

TEST(EmulatedStreamTest, WhereNothingRanTheMarkIsNow) {
  EmulatedStream stream;
  const Nanoseconds before = monotonicNow();
  EXPECT_GE(static_cast<Nanoseconds>(stream.mark()), before);
}

TEST(EmulatedStreamTest, ADeadlineIsMadeOfDeadlinesOnly) {
  EmulatedStream stream;
  const Nanoseconds origin = monotonicNow() - kNsPerSecond;  // long past, so nothing is waited for
  stream.setOrigin(origin);
  EXPECT_EQ(stream.run(EmulatedStream::kNoArrival, 10), origin + 10);
  EXPECT_EQ(stream.run(origin + 5, 10), origin + 20) << "the input was there before the lane";
  EXPECT_EQ(stream.run(origin + 100, 10), origin + 110) << "the lane waited for its input";
  EXPECT_EQ(stream.deadline(), origin + 110);
}

TEST(EmulatedStreamTest, WithoutAnOriginTheFirstJobStartsNow) {
  EmulatedStream stream;
  const Nanoseconds before = monotonicNow();
  const Nanoseconds deadline = stream.run(EmulatedStream::kNoArrival, kNsPerMs);
  EXPECT_GE(deadline, before + kNsPerMs);
  EXPECT_EQ(stream.lateStarts(), 0);
}

TEST(EmulatedStreamTest, AJobThatBeginsTooLateIsCounted) {
  EmulatedStream stream;
  stream.setOrigin(monotonicNow() + 50 * kNsPerMs);
  stream.run(EmulatedStream::kNoArrival, 0);
  EXPECT_EQ(stream.lateStarts(), 0) << "asked for early, so it began on time";
  stream.setOrigin(monotonicNow() - EmulatedStream::kTolerance - kNsPerUs);
  stream.run(EmulatedStream::kNoArrival, 0);
  EXPECT_EQ(stream.lateStarts(), 1);
  stream.setOrigin(kNsPerSecond);
  stream.run(monotonicNow() - kNsPerSecond, 0);
  EXPECT_EQ(stream.lateStarts(), 2) << "its input was there a second ago";
}

TEST(EmulatedStreamTest, AwaitStartWaitsForTheInput) {
  EmulatedStream stream;
  const Nanoseconds arrival = monotonicNow() + 5 * kNsPerMs;
  stream.awaitStart(arrival);
  EXPECT_GE(monotonicNow(), arrival);
  EXPECT_EQ(stream.run(arrival, kNsPerMs), arrival + kNsPerMs);
}

TEST(EmulatedStreamTest, WaitingLeavesTheCpuToOthers) {
  const Nanoseconds before = threadCpuTime();
  EmulatedStream::waitUntil(monotonicNow() + 50 * kNsPerMs);
  EXPECT_LE(threadCpuTime() - before, 5 * kNsPerMs);
}

}  // namespace
}  // namespace pipetrace
