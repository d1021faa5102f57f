#include "profiler/cuda/device.h"

#include <gmock/gmock.h>

#include <cstdlib>

#include "profiler/cuda/scope.h"
#include "profiler/testing/fake_cuda.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

struct DeviceUnderTest {
  explicit DeviceUnderTest(const FakeCudaBehaviour& behaviour = {})
      : cuda(std::make_shared<FakeCuda>(behaviour)), device(cuda, 0) {}

  void poll(bool hurry = false) {
    const CudaScope scope(*cuda, 0, CudaScope::Thread::kOurs);
    device.poll(hurry);
  }

  std::shared_ptr<FakeCuda> cuda;
  CudaDevice device;
};

TEST(CudaDeviceTest, AMissingDeviceIsAnError) {
  const auto cuda = std::make_shared<FakeCuda>();
  EXPECT_THROW(CudaDevice(cuda, 2), Error);
  EXPECT_THROW(CudaDevice(cuda, -1), Error);
  const auto none = std::make_shared<FakeCuda>(FakeCudaBehaviour{.devices = 0});
  EXPECT_THROW(CudaDevice(none, 0), Error);
}

TEST(CudaDeviceTest, ADeviceThatDoesNotAnswerIsAnErrorThatLeavesNothingBehind) {
  const auto cuda = std::make_shared<FakeCuda>();
  cuda->refuseRecords(CudaDevice::kTries);
  EXPECT_THROW(CudaDevice(cuda, 0), Error);
  EXPECT_EQ(cuda->liveEvents(), 0);
}

TEST(CudaDeviceTest, TheCallersDeviceStaysCurrent) {
  const auto cuda = std::make_shared<FakeCuda>();
  cuda->setDevice(1);
  { const CudaDevice device(cuda, 0); }
  EXPECT_EQ(cuda->currentDevice(), 1);
  EXPECT_FALSE(cuda->exchangeRelaxedCapture(false));
  EXPECT_EQ(cuda->calls().wrongDevice, 0);
}

TEST(CudaDeviceTest, ClocksAreComparedEveryTwoSecondsAndSoonerInAHurry) {
  DeviceUnderTest test;
  const Nanoseconds first = test.device.clock().last().host;
  test.cuda->advance(CudaDevice::kAnchorEvery / 2);
  test.poll();
  EXPECT_EQ(test.device.clock().last().host, first);
  test.cuda->advance(CudaDevice::kAnchorEvery / 2);
  test.poll();
  const Nanoseconds second = test.device.clock().last().host;
  EXPECT_NEAR(static_cast<double>(second - first), CudaDevice::kAnchorEvery, kNsPerMs);
  test.poll(true);
  EXPECT_EQ(test.device.clock().last().host, second);
  test.cuda->advance(CudaDevice::kAnchorSoonest);
  test.poll(true);
  EXPECT_GT(test.device.clock().last().host, second);
}

TEST(CudaDeviceTest, TheNarrowestTryOfAComparisonCounts) {
  // Half of all tries are ten times wider: eight in a row once in 256 comparisons.
  DeviceUnderTest test({.oneInIsTenTimesWider = 2});
  int narrow = 0;
  for (int i = 0; i < 100; ++i) {
    test.cuda->advance(CudaDevice::kAnchorEvery);
    test.poll();
    if (test.device.clock().last().halfWidth < 11 * kNsPerUs) ++narrow;
  }
  EXPECT_GE(narrow, 97);
}

TEST(CudaDeviceTest, AnEventIsPlacedByTheDevicesClockFromTheClosestComparison) {
  DeviceUnderTest test;
  const CudaScope scope(*test.cuda, 0, CudaScope::Thread::kOurs);
  const CudaApi::Stream stream = test.cuda->newStream();
  const CudaApi::Event early = test.cuda->createEvent();
  test.cuda->record(early, stream);
  const Nanoseconds happened = test.cuda->lastRecordAt(stream);
  for (int i = 0; i < 20; ++i) {
    test.cuda->advance(CudaDevice::kAnchorEvery);
    test.poll();
  }
  BoundedTime time;
  ASSERT_TRUE(test.device.deviceTime(early, time));
  EXPECT_LE(time.bound, 10) << "40 s from the last one the float would be off by 2 us";
  BoundedTime host;
  ASSERT_TRUE(test.device.clock().toHost(time.time, host));
  EXPECT_LE(std::llabs(host.time - happened), host.bound + time.bound);
}

TEST(CudaDeviceTest, TheStepOfCudasFloatIsPartOfEveryBound) {
  constexpr Nanoseconds kWidth = 4 * kNsPerUs;
  DeviceUnderTest test(
      {.narrowest = kWidth, .widest = kWidth, .oneInIsTenTimesWider = 1'000'000'000});
  const Nanoseconds first = test.device.clock().last().halfWidth;
  const CudaScope scope(*test.cuda, 0, CudaScope::Thread::kOurs);
  const CudaApi::Stream stream = test.cuda->newStream();
  const CudaApi::Event early = test.cuda->createEvent();
  const CudaApi::Event late = test.cuda->createEvent();
  test.cuda->record(early, stream);
  test.cuda->advance(10 * kNsPerSecond);
  test.cuda->record(late, stream);
  test.poll();
  // Floats of 8192 to 16384 (ms) are 1/1024 apart.
  constexpr Nanoseconds kHalfStep = 488;
  EXPECT_GE(test.device.clock().last().halfWidth, first + kHalfStep);
  BoundedTime duration;
  ASSERT_TRUE(test.device.elapsed(early, late, duration));
  EXPECT_GE(duration.bound, kHalfStep);
  EXPECT_LE(duration.bound, kHalfStep + 2);
}

TEST(CudaDeviceTest, ABusyDeviceDoesNotHoldUpTheThreadAndIsCounted) {
  DeviceUnderTest test;
  test.cuda->hang(test.device.stream(), true);
  test.cuda->advance(CudaDevice::kAnchorEvery);
  const Nanoseconds before = test.cuda->hostNow();
  test.poll();
  EXPECT_LE(test.cuda->hostNow() - before, CudaDevice::kTries * 3 * kNsPerMs);
  EXPECT_EQ(test.device.failedAnchors(), 1);
  test.cuda->hang(test.device.stream(), false);
  test.cuda->advance(CudaDevice::kAnchorEvery);
  test.poll();
  EXPECT_EQ(test.device.failedAnchors(), 1);
  EXPECT_GT(test.device.clock().last().host, before);
}

}  // namespace
}  // namespace pipetrace
