#include "profiler/cuda/stream.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <thread>
#include <vector>

#include "profiler/testing/fake_cuda_stream.h"

namespace pipetrace {
namespace {

TEST(CudaStreamTest, AJobLastsAsLongAsItsWork) {
  FakeCudaStream test;
  const auto job = test.job(5 * kNsPerMs);
  test.pass(3 * kNsPerSecond);
  const Nanoseconds start = test.timeOf(job.start);
  const Nanoseconds end = test.timeOf(job.end);
  EXPECT_NEAR(static_cast<double>(start - job.began), 0, 20e3);
  EXPECT_NEAR(static_cast<double>(end - start - (job.ended - job.began)), 0, 100);
}

TEST(CudaStreamTest, BackToBackJobsShareTheEventBetweenThem) {
  FakeCudaStream test;
  constexpr int kJobs = 100;
  std::vector<FakeCudaStream::Truth> jobs;
  for (int i = 0; i < kJobs; ++i) jobs.push_back(test.job(kNsPerMs));
  EXPECT_EQ(test.stream.counts().records, kJobs + 1) << "half of two a job";
  EXPECT_EQ(test.stream.counts().shared, kJobs - 1);
  test.pass(3 * kNsPerSecond);
  for (int i = 0; i + 1 < kJobs; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const Nanoseconds start = test.timeOf(jobs[at].start);
    const Nanoseconds end = test.timeOf(jobs[at].end);
    EXPECT_NEAR(static_cast<double>(end - start), kNsPerMs, 100) << i;
    EXPECT_EQ(test.timeOf(jobs[at + 1].start), end) << i;
  }
}

TEST(CudaStreamTest, AJobThatIsQueuedLateGetsAnEventOfItsOwn) {
  FakeCudaStream test;
  test.job(kNsPerMs);
  test.cuda->advance(20 * kNsPerUs);
  const auto late = test.job(kNsPerMs);
  EXPECT_EQ(test.stream.counts().records, 4);
  test.cuda->advance(10 * kNsPerMs);  // the device idles
  const auto later = test.job(kNsPerMs);
  EXPECT_EQ(test.stream.counts().records, 6);
  test.pass(3 * kNsPerSecond);
  const Nanoseconds before = test.timeOf(late.end);
  const Nanoseconds gap = test.timeOf(later.start) - before;
  EXPECT_NEAR(static_cast<double>(gap - (later.began - late.ended)), 0, 100);
  EXPECT_GT(gap, 7 * kNsPerMs);
}

TEST(CudaStreamTest, AJobAfterAWaitDoesNotBeginWithTheWait) {
  FakeCudaStream test;
  const auto first = test.job(kNsPerMs);
  test.stream.separate();
  test.cuda->work(test.handle, 4 * kNsPerMs);  // waits for another stream
  const auto second = test.job(kNsPerMs);
  test.pass(3 * kNsPerSecond);
  const Nanoseconds before = test.timeOf(first.end);
  EXPECT_NEAR(static_cast<double>(test.timeOf(second.start) - before), 4.0 * kNsPerMs, 100);
}

TEST(CudaStreamTest, AnotherThreadsJobSharesNothing) {
  FakeCudaStream test({.shareWithin = kNsPerSecond});
  test.job(kNsPerMs);
  std::thread([&] { test.job(kNsPerMs); }).join();
  EXPECT_EQ(test.stream.counts().shared, 0);
  EXPECT_EQ(test.stream.counts().records, 4);
}

TEST(CudaStreamTest, SharingCanBeSwitchedOff) {
  FakeCudaStream test({.shareWithin = 0});
  for (int i = 0; i < 10; ++i) test.job(kNsPerMs);
  EXPECT_EQ(test.stream.counts().records, 20);
}

TEST(CudaStreamTest, WhereNothingCanBeSharedTheClockIsReadForOneEndInThirtyTwo) {
  FakeCudaStream test;
  constexpr int kJobs = 32 * 8;
  int readings = 0;
  DeviceStream::Mark last = 0;
  std::vector<FakeCudaStream::Truth> jobs;
  for (int i = 0; i < kJobs; ++i) {
    jobs.push_back(test.job(kNsPerUs));
    EXPECT_GT(jobs.back().start, last);
    EXPECT_GT(jobs.back().end, jobs.back().start);
    last = jobs.back().end;
    if (jobs.back().end != jobs.back().start + 1) ++readings;
    test.cuda->advance(20 * kNsPerUs);
  }
  EXPECT_EQ(readings, 32 + kJobs / 32 - 1);
  EXPECT_EQ(test.stream.counts().records, 2 * kJobs);
  test.pass(3 * kNsPerSecond);
  for (const auto& job : jobs) {
    const auto [start, end] = test.timesOf(job);
    ASSERT_NEAR(static_cast<double>(start - job.began), 0, 20e3);
    ASSERT_NEAR(static_cast<double>(end - start - (job.ended - job.began)), 0, 100);
  }
}

TEST(CudaStreamTest, SharingComesBackWithinThirtyTwoJobsAndMovesNoTime) {
  FakeCudaStream test;
  for (int i = 0; i < 100; ++i) {
    test.job(kNsPerUs);
    test.cuda->advance(20 * kNsPerUs);
  }
  ASSERT_EQ(test.stream.counts().shared, 0);
  constexpr int kJobs = 200;
  std::vector<FakeCudaStream::Truth> jobs;
  for (int i = 0; i < kJobs; ++i) jobs.push_back(test.job(kNsPerMs));
  EXPECT_GE(test.stream.counts().shared, kJobs - 32);
  test.pass(3 * kNsPerSecond);
  for (const auto& job : jobs) {
    const auto [start, end] = test.timesOf(job);
    ASSERT_NEAR(static_cast<double>(start - job.began), 0, 20e3);
    ASSERT_NEAR(static_cast<double>(end - job.ended), 0, 20e3);
  }
}

TEST(CudaStreamTest, ATimeIsNotYetKnownUntilTheDeviceIsDoneAndTheClocksAreCompared) {
  FakeCudaStream test;
  const auto job = test.job(30 * kNsPerMs);
  test.pass(20 * kNsPerMs);
  EXPECT_EQ(test.timeOf(job.start), FakeCudaStream::kNotYet) << "still running";
  EXPECT_EQ(test.timeOf(job.end), FakeCudaStream::kNotYet);
  test.pass(kNsPerSecond);
  EXPECT_EQ(test.timeOf(job.start), FakeCudaStream::kNotYet) << "no comparison after it";
  test.pass(kNsPerSecond);
  const auto [start, end] = test.timesOf(job);
  EXPECT_LT(start, end);
  EXPECT_NE(end, FakeCudaStream::kNotYet);
}

TEST(CudaStreamTest, AFlushGetsTheTimesOfFinishedJobsAtOnce) {
  FakeCudaStream test;
  test.pass(100 * kNsPerMs);
  const auto job = test.job(kNsPerMs);
  test.cuda->advance(5 * kNsPerMs);
  test.stream.poll(true);
  EXPECT_NEAR(static_cast<double>(test.timeOf(job.start) - job.began), 0, 20e3);
  EXPECT_NE(test.timeOf(job.end), FakeCudaStream::kNotYet);
}

TEST(CudaStreamTest, OnlyTheOldestUnfinishedEndIsQueried) {
  FakeCudaStream test;
  for (int i = 0; i < 50; ++i) test.job(10 * kNsPerMs);
  const std::int64_t before = test.cuda->calls().queries;
  test.stream.poll(false);
  EXPECT_EQ(test.cuda->calls().queries - before, 1);
  test.cuda->advance(25 * kNsPerMs);
  test.stream.poll(false);
  EXPECT_EQ(test.cuda->calls().queries - before, 1 + 3) << "two are done, the third is not";
}

TEST(CudaStreamTest, AnOpenJobIsNotQueried) {
  FakeCudaStream test;
  test.stream.markStart();
  const std::int64_t before = test.cuda->calls().queries;
  test.pass(kNsPerSecond);
  EXPECT_EQ(test.cuda->calls().queries, before);
}

TEST(CudaStreamTest, MarksOfDroppedJobsAreSkipped) {
  FakeCudaStream test;
  const auto first = test.job(kNsPerMs);
  for (int i = 0; i < 100; ++i) test.job(kNsPerMs);  // nobody will ask for these
  const auto last = test.job(kNsPerMs);
  test.pass(3 * kNsPerSecond);
  EXPECT_NEAR(static_cast<double>(test.timeOf(first.start) - first.began), 0, 20e3);
  EXPECT_NEAR(static_cast<double>(test.timeOf(last.end) - last.ended), 0, 20e3);
}

TEST(CudaStreamTest, AStartWithoutAnEndIsLostAndTheNextJobIsNot) {
  FakeCudaStream test;
  const DeviceStream::Mark orphan = test.stream.markStart();
  const auto job = test.job(kNsPerMs);
  test.pass(3 * kNsPerSecond);
  EXPECT_EQ(test.timeOf(orphan), DeviceStream::kLost);
  EXPECT_EQ(test.stream.counts().records, 3);
  EXPECT_NEAR(static_cast<double>(test.timeOf(job.start) - job.began), 0, 20e3);
}

TEST(CudaStreamTest, ALongJobsStartIsMeasuredFromTheComparisonsAroundIt) {
  FakeCudaStream test;
  const auto job = test.job(50 * kNsPerSecond);
  test.pass(53 * kNsPerSecond);
  BoundedTime start;
  ASSERT_TRUE(test.stream.resolve(job.start, start));
  EXPECT_LE(start.bound, 20 * kNsPerUs);
  EXPECT_LE(std::llabs(start.time - job.began), start.bound);
  BoundedTime end;
  ASSERT_TRUE(test.stream.resolve(job.end, end));
  EXPECT_LE(std::llabs(end.time - job.ended), end.bound);
}

TEST(CudaStreamTest, ABoundIncludesTheErrorsOfTheClocksAndOfTheFloat) {
  FakeCudaStream test;
  const Nanoseconds origin = test.device->clock().last().host;
  test.pass(kNsPerSecond);  // half way between two comparisons
  const auto job = test.job(kNsPerUs);
  test.pass(3 * kNsPerSecond);
  BoundedTime end;
  ASSERT_TRUE(test.stream.resolve(job.end, end));
  BoundedTime byClocks;
  ASSERT_TRUE(test.device->clock().toHost(end.time - origin, byClocks));
  // Floats of 512 to 1024 (ms) are 61 ns apart.
  EXPECT_GE(end.bound, byClocks.bound + 30);
}

TEST(CudaStreamTest, RoundingDoesNotAddUpAlongJobsThatShareTheirEvents) {
  FakeCudaStream test;
  const Nanoseconds origin = test.device->clock().last().host;
  std::vector<FakeCudaStream::Truth> jobs;
  for (int i = 0; i < 1500; ++i) jobs.push_back(test.job(kNsPerMs));
  ASSERT_EQ(test.stream.counts().shared, 1499);
  test.pass(4 * kNsPerSecond);
  for (const auto& job : jobs) {
    BoundedTime end;
    ASSERT_TRUE(test.stream.resolve(job.end, end));
    BoundedTime byClocks;
    ASSERT_TRUE(test.device->clock().toHost(end.time - origin, byClocks));
    // 200 ns, and what a float of 1024 to 2048 (ms) is off by.
    ASSERT_LE(end.bound, byClocks.bound + 200 + 62 + 2);
    ASSERT_LE(std::llabs(end.time - job.ended), end.bound);
  }
}

TEST(CudaStreamTest, TheProgramsThreadKeepsItsDevice) {
  const auto cuda = std::make_shared<FakeCuda>();
  cuda->setDevice(1);
  {
    const auto device = std::make_shared<CudaDevice>(cuda, 0);
    const CudaStream stream(device, cuda->newStream());
  }
  EXPECT_EQ(cuda->currentDevice(), 1);
  EXPECT_EQ(cuda->calls().wrongDevice, 0);
}

TEST(CudaStreamTest, TheLogThreadChoosesItsDeviceAndNoOther) {
  const auto cuda = std::make_shared<FakeCuda>();
  const auto device = std::make_shared<CudaDevice>(cuda, 1);
  const CudaApi::Stream handle = cuda->newStream(1);
  CudaStream stream(device, handle);
  cuda->setDevice(1);
  stream.markStart();
  const DeviceStream::Mark end = stream.mark();
  const std::int64_t onZero = cuda->calls().chosen[0];
  std::thread([&] {
    cuda->advance(3 * kNsPerSecond);
    stream.poll(false);
    stream.poll(true);
    EXPECT_EQ(cuda->currentDevice(), 1);
  }).join();
  EXPECT_EQ(cuda->calls().chosen[0], onZero) << "that would make a context on device 0";
  EXPECT_EQ(cuda->calls().wrongDevice, 0);
  BoundedTime time;
  EXPECT_TRUE(stream.resolve(end, time));
  EXPECT_EQ(stream.counts().lost, 0);
}

TEST(CudaStreamTest, EveryEventIsDestroyed) {
  const auto cuda = std::make_shared<FakeCuda>();
  const CudaApi::Stream handle = cuda->newStream();
  {
    CudaStream stream(std::make_shared<CudaDevice>(cuda, 0), handle);
    stream.markStart();
    stream.mark();
  }
  EXPECT_EQ(cuda->liveEvents(), 0);
}

}  // namespace
}  // namespace pipetrace
