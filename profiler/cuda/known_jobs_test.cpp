#include "profiler/cuda/known_jobs.h"

#include <gtest/gtest.h>

namespace pipetrace {
namespace {

using Mark = DeviceStream::Mark;

/// Job n has the marks 10 n and 10 n + 5; its times are a thousand times those.
KnownJob job(Mark number) {
  const Mark start = 10 * number;
  const Mark end = start + 5;
  return {.start = start,
          .end = end,
          .startTime = {.time = static_cast<Nanoseconds>(1000 * start), .bound = 1},
          .endTime = {.time = static_cast<Nanoseconds>(1000 * end), .bound = 2}};
}

TEST(KnownJobs, TimesOfStartsAndEndsAreFoundInOrder) {
  KnownJobs jobs;
  for (Mark n = 1; n <= 3; ++n) jobs.add(job(n));
  for (Mark n = 1; n <= 3; ++n) {
    const BoundedTime* const start = jobs.find(10 * n);
    ASSERT_NE(start, nullptr);
    EXPECT_EQ(start->time, static_cast<Nanoseconds>(10'000 * n));
    EXPECT_EQ(start->bound, 1);
    const BoundedTime* const end = jobs.find(10 * n + 5);
    ASSERT_NE(end, nullptr);
    EXPECT_EQ(end->time, static_cast<Nanoseconds>(10'000 * n + 5'000));
    EXPECT_EQ(end->bound, 2);
  }
}

TEST(KnownJobs, AJobIsKeptUntilALaterOneIsAskedFor) {
  KnownJobs jobs;
  for (Mark n = 1; n <= 4; ++n) jobs.add(job(n));
  // The start again, as long as the end could not be placed.
  EXPECT_NE(jobs.find(10), nullptr);
  EXPECT_NE(jobs.find(15), nullptr);
  EXPECT_NE(jobs.find(10), nullptr);
  EXPECT_EQ(jobs.size(), 4u);
  // 2 was dropped by a full ring: nobody asks for it.
  EXPECT_NE(jobs.find(30), nullptr);
  EXPECT_EQ(jobs.size(), 2u);
  EXPECT_EQ(jobs.find(20), nullptr);
  EXPECT_NE(jobs.find(30), nullptr);
}

TEST(KnownJobs, AMarkOfNoJobHasNoTime) {
  KnownJobs jobs;
  EXPECT_EQ(jobs.find(10), nullptr);
  jobs.add(job(1));
  EXPECT_EQ(jobs.find(9), nullptr);
  EXPECT_EQ(jobs.find(12), nullptr);
  EXPECT_NE(jobs.find(15), nullptr);
  EXPECT_EQ(jobs.find(20), nullptr);  // not done yet
  jobs.add(job(2));
  EXPECT_NE(jobs.find(20), nullptr);
}

TEST(KnownJobs, TheOldestUnusedJobIsDroppedWhenTooManyAreKnown) {
  KnownJobs jobs;
  constexpr Mark kMore = 1000;
  for (Mark n = 1; n <= KnownJobs::kMost + kMore; ++n) jobs.add(job(n));
  EXPECT_EQ(jobs.size(), KnownJobs::kMost);
  EXPECT_EQ(jobs.find(10 * kMore), nullptr);
  const BoundedTime* const oldest = jobs.find(10 * (kMore + 1));
  ASSERT_NE(oldest, nullptr);
  EXPECT_EQ(oldest->time, static_cast<Nanoseconds>(10'000 * (kMore + 1)));
}

TEST(KnownJobs, AFewWaitingJobsNeedNoMoreMemoryHoweverManyPass) {
  KnownJobs jobs;
  constexpr Mark kWaiting = 3;
  for (Mark n = 1; n <= 100'000; ++n) {
    jobs.add(job(n));
    if (n <= kWaiting) continue;
    ASSERT_NE(jobs.find(10 * (n - kWaiting)), nullptr) << n;
    ASSERT_NE(jobs.find(10 * (n - kWaiting) + 5), nullptr) << n;
    ASSERT_LE(jobs.size(), kWaiting + 1);
  }
}

}  // namespace
}  // namespace pipetrace
