// The recording of a CUDA stream when something goes wrong.
#include <gmock/gmock.h>

#include <cstdlib>
#include <vector>

#include "profiler/testing/fake_cuda_stream.h"

namespace pipetrace {
namespace {

/// Jobs that are known and right.
int rightOnes(FakeCudaStream& test, const std::vector<FakeCudaStream::Truth>& jobs) {
  int right = 0;
  for (const auto& job : jobs) {
    BoundedTime start;
    BoundedTime end;
    EXPECT_TRUE(test.stream.resolve(job.start, start));
    EXPECT_TRUE(test.stream.resolve(job.end, end));
    if (start.time == DeviceStream::kLost || end.time == DeviceStream::kLost) continue;
    EXPECT_LE(std::llabs(start.time - job.began), start.bound);
    EXPECT_LE(std::llabs(end.time - job.ended), end.bound);
    ++right;
  }
  return right;
}

TEST(CudaStreamFaultsTest, AnExhaustedPoolLosesJobsCountsThemAndRecovers) {
  FakeCudaStream test({.events = 16, .shareWithin = 0});
  std::vector<FakeCudaStream::Truth> jobs;
  for (int i = 0; i < 20; ++i) jobs.push_back(test.job(10 * kNsPerMs));
  EXPECT_EQ(test.stream.counts().exhausted, 2 * 20 - 16);
  const std::int64_t records = test.stream.counts().records;
  EXPECT_EQ(records, 16);
  test.pass(3 * kNsPerSecond);
  EXPECT_EQ(rightOnes(test, jobs), 8);
  jobs.clear();
  for (int i = 0; i < 7; ++i) jobs.push_back(test.job(kNsPerMs));
  test.pass(3 * kNsPerSecond);
  EXPECT_EQ(rightOnes(test, jobs), 7) << "one event is kept, to measure the next job from";
}

TEST(CudaStreamFaultsTest, AnExhaustedPoolRecoversHoweverOftenItHappens) {
  FakeCudaStream test({.events = 8});
  for (int round = 0; round < 200; ++round) {
    std::vector<FakeCudaStream::Truth> jobs;
    for (int i = 0; i < round % 40; ++i) {
      jobs.push_back(test.job(kNsPerMs));
      if (i % 3 == 0) test.cuda->advance(kNsPerUs);
    }
    test.pass(2500 * kNsPerMs, 50 * kNsPerMs);
    EXPECT_GE(rightOnes(test, jobs), std::min(round % 40, 3)) << round;
  }
}

TEST(CudaStreamFaultsTest, AStreamThatIsNeverPolledLosesMarksAndRecovers) {
  FakeCudaStream test({.events = 8});
  // No turn for the log thread: marks have no room left either.
  std::vector<FakeCudaStream::Truth> jobs;
  for (int i = 0; i < 1'000; ++i) jobs.push_back(test.job(kNsPerUs));
  const CudaStreamCounts counts = test.stream.counts();
  EXPECT_EQ(counts.records + counts.shared + counts.exhausted, 2'000) << "every mark is counted";
  test.pass(3 * kNsPerSecond);
  EXPECT_EQ(rightOnes(test, jobs), 7);
  jobs = {test.job(kNsPerMs)};
  test.pass(3 * kNsPerSecond);
  EXPECT_EQ(rightOnes(test, jobs), 1);
}

TEST(CudaStreamFaultsTest, LateEventsAreWaitedFor) {
  FakeCudaStream test;
  const auto job = test.job(kNsPerMs);
  test.cuda->hang(test.handle, true);
  test.pass(60 * kNsPerSecond);
  EXPECT_EQ(test.timeOf(job.start), FakeCudaStream::kNotYet);
  EXPECT_EQ(test.timeOf(job.end), FakeCudaStream::kNotYet);
  test.cuda->hang(test.handle, false);
  test.pass(3 * kNsPerSecond);
  EXPECT_EQ(rightOnes(test, {job}), 1);
}

TEST(CudaStreamFaultsTest, ARefusedRecordLosesItsJobOnly) {
  FakeCudaStream test;
  std::vector<FakeCudaStream::Truth> jobs;
  for (int i = 0; i < 10; ++i) {
    if (i == 3) test.cuda->refuseRecords(1);
    jobs.push_back(test.job(kNsPerMs));
  }
  EXPECT_EQ(test.stream.counts().refused, 1);
  test.pass(3 * kNsPerSecond);
  EXPECT_EQ(rightOnes(test, jobs), 9);
}

TEST(CudaStreamFaultsTest, FailuresThatAreNotInARowLoseTheirJobsOnly) {
  FakeCudaStream test({.shareWithin = 0});
  constexpr int kTimes = 12;
  for (int i = 0; i < kTimes; ++i) {
    std::vector<FakeCudaStream::Truth> jobs;
    for (int j = 0; j < 4; ++j) {
      if (i % 3 == 0 && j == 1) test.cuda->refuseRecords(1);
      jobs.push_back(test.job(kNsPerMs));
    }
    test.cuda->advance(10 * kNsPerMs);
    if (i % 3 == 1) test.cuda->failQueries(1);
    if (i % 3 == 2) test.cuda->failElapsed(1);
    test.pass(3 * kNsPerSecond);
    EXPECT_EQ(rightOnes(test, jobs), 3) << i;
  }
}

TEST(CudaStreamFaultsTest, AFailedQueryLosesItsJobOnly) {
  FakeCudaStream test({.shareWithin = 0});
  std::vector<FakeCudaStream::Truth> jobs;
  for (int i = 0; i < 10; ++i) jobs.push_back(test.job(kNsPerMs));
  test.cuda->advance(5 * kNsPerMs);
  test.cuda->failQueries(1);
  test.pass(3 * kNsPerSecond);
  EXPECT_EQ(rightOnes(test, jobs), 9);
}

TEST(CudaStreamFaultsTest, AFailedMeasurementLosesItsJobOnly) {
  for (int failures = 1; failures <= 2; ++failures) {
    FakeCudaStream test({.shareWithin = 0});
    std::vector<FakeCudaStream::Truth> jobs;
    for (int i = 0; i < 10; ++i) jobs.push_back(test.job(kNsPerMs));
    test.cuda->advance(5 * kNsPerMs);
    test.cuda->failElapsed(failures);
    test.pass(3 * kNsPerSecond);
    EXPECT_EQ(rightOnes(test, jobs), 10 - failures);
  }
}

TEST(CudaStreamFaultsTest, AfterSeveralRefusalsInARowCudaIsNotCalledAgain) {
  FakeCudaStream test;
  const auto before = test.job(kNsPerMs);
  test.pass(3 * kNsPerSecond);
  test.cuda->refuseRecords(1'000'000);
  for (int i = 0; i < 10; ++i) test.job(kNsPerMs);
  EXPECT_EQ(test.stream.counts().refused, 3);
  const std::int64_t calls = test.cuda->calls().all;
  const auto after = test.job(kNsPerMs);
  EXPECT_EQ(test.cuda->calls().all, calls);
  testing::internal::CaptureStderr();
  test.stream.poll(false);
  test.stream.poll(false);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::MatchesRegex("pipetrace: CUDA device 0: jobs are no longer timed: .+\n"))
      << "once, with the reason";
  EXPECT_EQ(test.timeOf(after.start), DeviceStream::kLost);
  EXPECT_EQ(test.timeOf(after.end), DeviceStream::kLost);
  EXPECT_LT(before.start, after.start);
}

TEST(CudaStreamFaultsTest, ADeviceResetLosesQueuedJobsAndNothingIsWaitedFor) {
  FakeCudaStream test;
  const auto early = test.job(kNsPerMs);
  test.pass(3 * kNsPerSecond);
  EXPECT_EQ(rightOnes(test, {early}), 1);
  std::vector<FakeCudaStream::Truth> jobs;
  for (int i = 0; i < 10; ++i) jobs.push_back(test.job(kNsPerMs));
  test.cuda->reset(0);
  test.pass(100 * kNsPerMs);
  EXPECT_EQ(rightOnes(test, jobs), 0);
  const std::int64_t calls = test.cuda->calls().stale;
  const auto after = test.job(kNsPerMs);
  test.stream.poll(true);
  EXPECT_EQ(test.timeOf(after.end), DeviceStream::kLost);
  EXPECT_EQ(test.cuda->calls().stale, calls) << "what is gone is not touched again";
}

TEST(CudaStreamFaultsTest, AJobThatWaitsForAComparisonOfClocksIsLostOnceTheDeviceIsGone) {
  FakeCudaStream test;
  const auto job = test.job(kNsPerMs);
  test.pass(100 * kNsPerMs);
  ASSERT_EQ(test.timeOf(job.end), FakeCudaStream::kNotYet) << "no comparison after it";
  test.cuda->reset(0);
  for (int i = 0; i < 3; ++i) test.job(kNsPerMs);
  test.pass(100 * kNsPerMs);
  EXPECT_EQ(test.timeOf(job.end), DeviceStream::kLost);
}

TEST(CudaStreamFaultsTest, JobsDuringCaptureAreLostAndTheGraphIsUnchanged) {
  FakeCudaStream test;
  const auto before = test.job(kNsPerMs);
  test.cuda->beginCapture(test.handle);
  const auto inside = test.job(kNsPerMs);
  test.pass(3 * kNsPerSecond);
  EXPECT_TRUE(test.cuda->endCapture());
  EXPECT_EQ(test.stream.counts().captured, 2);
  const auto launch = test.job(kNsPerMs);
  test.pass(3 * kNsPerSecond);
  EXPECT_EQ(rightOnes(test, {before}), 1);
  EXPECT_EQ(test.timeOf(inside.start), DeviceStream::kLost);
  EXPECT_EQ(test.timeOf(inside.end), DeviceStream::kLost);
  EXPECT_EQ(rightOnes(test, {launch}), 1);
}

TEST(CudaStreamFaultsTest, ALongCaptureIsNoFailureOfTheDevice) {
  FakeCudaStream test;
  std::vector<FakeCudaStream::Truth> inside;
  test.cuda->beginCapture(test.handle);
  for (int i = 0; i < 100; ++i) inside.push_back(test.job(kNsPerMs));
  test.pass(3 * kNsPerSecond);
  EXPECT_TRUE(test.cuda->endCapture());
  EXPECT_EQ(test.stream.counts().captured, 200);
  EXPECT_EQ(test.stream.counts().records, 0);
  EXPECT_EQ(rightOnes(test, inside), 0);
  std::vector<FakeCudaStream::Truth> after;
  for (int i = 0; i < 10; ++i) after.push_back(test.job(kNsPerMs));
  test.pass(3 * kNsPerSecond);
  EXPECT_EQ(rightOnes(test, after), 10);
}

TEST(CudaStreamFaultsTest, PollingDoesNotSpoilAnotherThreadsCapture) {
  FakeCudaStream test;
  const CudaApi::Stream other = test.cuda->newStream();
  const auto job = test.job(kNsPerMs);
  test.cuda->beginCapture(other);
  test.pass(3 * kNsPerSecond);
  EXPECT_TRUE(test.cuda->endCapture());
  EXPECT_EQ(rightOnes(test, {job}), 1);
}

TEST(CudaStreamFaultsTest, AStreamMadeDuringAnotherThreadsCaptureDoesNotSpoilIt) {
  const auto cuda = std::make_shared<FakeCuda>();
  cuda->beginCapture(cuda->newStream());
  { const CudaStream stream(std::make_shared<CudaDevice>(cuda, 0), cuda->newStream()); }
  EXPECT_TRUE(cuda->endCapture());
}

}  // namespace
}  // namespace pipetrace
