#include "runtime/testing/device/device_streams.h"

#include <ATen/DeviceAccelerator.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>

#include <set>

#include "runtime/testing/device/test_programs.h"

namespace pipetrace {
namespace {

using ::testing::AllOf;
using testing::DeviceTest;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::makeWait;
using testing::onTestDevice;

class DeviceStreamsTest : public DeviceTest {
 protected:
  at::Tensor onesOn(c10::Stream stream) {
    const c10::StreamGuard guard(stream);
    return at::ones({2, 3}, onTestDevice());
  }
  void addOneOn(c10::Stream stream, const at::Tensor& tensor) {
    const c10::StreamGuard guard(stream);
    tensor.add_(1);
  }
  at::Tensor readOn(c10::Stream stream, const at::Tensor& tensor) {
    const c10::StreamGuard guard(stream);
    return tensor.add(1);
  }

  c10::Stream first_ = (installTestDevice(), nextDeviceStream());
  c10::Stream second_ = nextDeviceStream();
};

TEST_F(DeviceStreamsTest, MissingWaitNamesOperatorsTensorsAndStreams) {
  at::Tensor tensor;
  {
    const DeviceLabel label("rank 0 forward 1");
    tensor = onesOn(first_);
  }
  const DeviceLabel label("rank 1 forward 1");
  readOn(second_, tensor);
  const std::string one = "test:0 stream " + std::to_string(first_.id());
  const std::string two = "test:0 stream " + std::to_string(second_.id());
  EXPECT_THAT(takeTestDeviceFindings(),
              ElementsAre("aten::add [rank 1 forward 1] on " + two +
                          " reads Float [2, 3], which aten::fill_ [rank 0 forward 1] on " + one +
                          " wrote as Float [2, 3]; nothing makes " + two + " wait for " + one));
}

TEST_F(DeviceStreamsTest, WaitForAnEventOrdersStreams) {
  const at::Tensor tensor = onesOn(first_);
  makeWait(second_, first_);
  addOneOn(second_, tensor);
  EXPECT_THAT(takeTestDeviceFindings(), IsEmpty());
}

TEST_F(DeviceStreamsTest, WaitOfTheHostOrdersStreams) {
  const at::Tensor tensor = onesOn(first_);
  first_.synchronize();
  addOneOn(second_, tensor);
  EXPECT_THAT(takeTestDeviceFindings(), IsEmpty());
}

TEST_F(DeviceStreamsTest, MissingWaitIsFoundOnceForAllTensors) {
  const at::Tensor a = onesOn(first_);
  const at::Tensor b = onesOn(first_);
  readOn(second_, a);
  readOn(second_, b);
  EXPECT_EQ(takeTestDeviceFindings().size(), 1u);
  addOneOn(first_, a);
  readOn(second_, a);
  EXPECT_EQ(takeTestDeviceFindings().size(), 2u) << "a write over a read, and a read of it";
}

TEST_F(DeviceStreamsTest, WriteOverAReadIsFound) {
  const at::Tensor tensor = onesOn(first_);
  makeWait(second_, first_);
  readOn(second_, tensor);
  addOneOn(first_, tensor);
  EXPECT_THAT(takeTestDeviceFindings(),
              ElementsAre(AllOf(HasSubstr("aten::add_ on"), HasSubstr(" writes Float [2, 3], "),
                                HasSubstr("which aten::add on"), HasSubstr(" reads as Float"))));
}

TEST_F(DeviceStreamsTest, PartsOfATensorThatDoNotOverlapNeedNoWait) {
  const at::Tensor tensor = onesOn(first_);
  makeWait(second_, first_);
  addOneOn(first_, tensor[0]);
  addOneOn(second_, tensor[1]);
  EXPECT_THAT(takeTestDeviceFindings(), IsEmpty());
  addOneOn(second_, tensor.view({6}).narrow(0, 2, 2));
  EXPECT_EQ(takeTestDeviceFindings().size(), 1u);
}

TEST_F(DeviceStreamsTest, MemoryOfAnotherStreamNeedsAWaitBeforeItsFirstUse) {
  onesOn(first_);
  at::Tensor tensor;
  {
    const c10::StreamGuard guard(first_);
    tensor = at::empty({4}, onTestDevice());
  }
  const c10::StreamGuard guard(second_);
  tensor.fill_(1);
  EXPECT_THAT(takeTestDeviceFindings(), ElementsAre(HasSubstr("whose memory was allocated on")));
}

TEST_F(DeviceStreamsTest, ReadOfMemoryThatNobodyWroteIsFoundOnce) {
  const at::Tensor tensor = at::empty({4}, onTestDevice());
  tensor.add(1);
  tensor.add(1);
  EXPECT_THAT(takeTestDeviceFindings(),
              ElementsAre("aten::add on test:0 default stream reads Float [4], which nobody has "
                          "written"));
}

TEST_F(DeviceStreamsTest, FreeWithoutRecordStreamIsFound) {
  at::Tensor tensor = onesOn(first_);
  makeWait(second_, first_);
  readOn(second_, tensor);
  tensor.reset();
  EXPECT_THAT(takeTestDeviceFindings(), ElementsAre(AllOf(HasSubstr("is freed while aten::add on"),
                                                          HasSubstr("may still read Float [2, 3]"),
                                                          HasSubstr("no record_stream"))));
}

TEST_F(DeviceStreamsTest, FreeAfterRecordStreamOrAWaitIsRight) {
  at::Tensor tensor = onesOn(first_);
  makeWait(second_, first_);
  readOn(second_, tensor);
  tensor.record_stream(second_);
  tensor.reset();
  tensor = onesOn(first_);
  makeWait(second_, first_);
  readOn(second_, tensor);
  makeWait(first_, second_);
  tensor.reset();
  EXPECT_THAT(takeTestDeviceFindings(), IsEmpty());
}

TEST_F(DeviceStreamsTest, GraphOverTwoStreamsIsOrderedByTheEngine) {
  at::Tensor x;
  at::Tensor y;
  at::Tensor loss;
  {
    const c10::StreamGuard guard(first_);
    x = at::ones({2, 4}, onTestDevice()).requires_grad_();
    y = x.mul(2);
  }
  makeWait(second_, first_);
  y.record_stream(second_);
  const c10::StreamGuard guard(second_);
  loss = y.mul(3).sum();
  loss.backward();
  x.grad().add(1);
  EXPECT_THAT(takeTestDeviceFindings(), IsEmpty());
}

TEST_F(DeviceStreamsTest, GradientFromAnotherStreamNeedsAWaitBeforeBackward) {
  for (const bool waits : {true, false}) {
    at::Tensor x;
    at::Tensor y;
    {
      const c10::StreamGuard guard(first_);
      x = at::ones({2, 3}, onTestDevice()).requires_grad_();
      y = x.mul(2);
    }
    const at::Tensor gradient = onesOn(second_);
    gradient.record_stream(first_);
    if (waits) makeWait(first_, second_);
    const c10::StreamGuard guard(first_);
    y.backward(gradient);
    EXPECT_EQ(takeTestDeviceFindings().size(), waits ? 0u : 1u);
  }
}

TEST_F(DeviceStreamsTest, AfterAResetNothingIsLeftToWaitFor) {
  at::Tensor tensor = onesOn(first_);
  c10::Event event(c10::kPrivateUse1);
  event.record(first_);
  readOn(second_, tensor);
  resetTestDevice();
  EXPECT_THAT(takeTestDeviceFindings(), IsEmpty());
  event.block(second_);
  addOneOn(second_, tensor);
  tensor.record_stream(second_);
  tensor.reset();
  EXPECT_THAT(takeTestDeviceFindings(), IsEmpty());
}

TEST_F(DeviceStreamsTest, EventOfBeforeAResetOrdersNothing) {
  for (int i = 0; i < 9; ++i) onesOn(first_);
  c10::Event event(c10::kPrivateUse1);
  event.record(first_);
  resetTestDevice();
  const at::Tensor tensor = onesOn(first_);
  event.block(second_);
  readOn(second_, tensor);
  EXPECT_EQ(takeTestDeviceFindings().size(), 1u);
}

TEST_F(DeviceStreamsTest, PoolHandsOutThirtyTwoStreamsInTurn) {
  std::set<c10::StreamId> ids;
  std::set<void*> handles;
  const c10::Stream start = nextDeviceStream(1);
  ids.insert(start.id());
  handles.insert(start.native_handle());
  EXPECT_EQ(streamsHandedOut(1), 1);
  for (int i = 1; i < 32; ++i) {
    const c10::Stream stream = nextDeviceStream(1);
    ids.insert(stream.id());
    handles.insert(stream.native_handle());
  }
  EXPECT_EQ(ids.size(), 32u);
  EXPECT_EQ(handles.size(), 32u);
  EXPECT_EQ(handles.count(nullptr), 0u);
  EXPECT_EQ(nextDeviceStream(1), start);
  EXPECT_EQ(streamsHandedOut(1), 32);
  const c10::impl::VirtualGuardImpl guard(c10::kPrivateUse1);
  EXPECT_EQ(ids.count(guard.getStreamFromGlobalPool(testDevice(1), true).id()), 0u);
  EXPECT_EQ(ids.count(guard.getNewStream(testDevice(1)).id()), 1u);
}

TEST_F(DeviceStreamsTest, HandlesComeFromTheHook) {
  int handle = 0;
  setStreamHandles([&](c10::Stream stream) { return stream == first_ ? &handle : nullptr; });
  EXPECT_EQ(first_.native_handle(), &handle);
  EXPECT_EQ(second_.native_handle(), nullptr);
}

TEST_F(DeviceStreamsTest, ElapsedTimeNeedsEventsWithTimes) {
  c10::Event begin(c10::kPrivateUse1, c10::EventFlag::BACKEND_DEFAULT);
  c10::Event end(c10::kPrivateUse1, c10::EventFlag::BACKEND_DEFAULT);
  c10::Event without(c10::kPrivateUse1);
  begin.record(first_);
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  end.record(first_);
  without.record(first_);
  EXPECT_GE(begin.elapsedTime(end), 2.0);
  EXPECT_ANY_THROW(begin.elapsedTime(without));
  EXPECT_TRUE(end.query());
}

TEST_F(DeviceStreamsTest, DevicesCanBeFewer) {
  EXPECT_EQ(at::accelerator::deviceCount(), kTestDevices);
  setTestDeviceCount(1);
  EXPECT_EQ(at::accelerator::deviceCount(), 1);
  EXPECT_ANY_THROW(at::ones({2}, onTestDevice(1)));
  EXPECT_NO_THROW(at::ones({2}, onTestDevice(0)));
  setTestDeviceCount(0);
  EXPECT_EQ(at::accelerator::deviceCount(), 0);
  EXPECT_ANY_THROW(at::ones({2}, onTestDevice(0)));
}

TEST_F(DeviceStreamsTest, TwoDevicesInOneOperatorThrow) {
  const at::Tensor here = at::ones({2}, onTestDevice(0));
  const at::Tensor there = at::ones({2}, onTestDevice(1));
  EXPECT_THAT([&] { here.add(there); },
              ::testing::ThrowsMessage<c10::Error>(HasSubstr("on the same device")));
  EXPECT_THAT([&] { here.add(at::ones({2})); },
              ::testing::ThrowsMessage<c10::Error>(HasSubstr("on the same device")));
  EXPECT_NO_THROW(here.add(at::ones({})));
  EXPECT_TRUE(there.to(testDevice(0)).add(here).cpu().equal(at::full({2}, 2.0F)));
  EXPECT_THAT(takeTestDeviceFindings(), IsEmpty());
}

}  // namespace
}  // namespace pipetrace
