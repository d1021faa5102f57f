#include "runtime/device/rank_device.h"

#include <ATen/ops/ones.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "runtime/testing/device/test_programs.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

using RankDeviceTest = testing::FaultlessDeviceTest;

TEST_F(RankDeviceTest, RanksOfADeviceHaveStreamsOfTheirOwn) {
  std::vector<std::unique_ptr<RankDevice>> ranks;
  std::vector<c10::Stream> streams;
  for (int rank = 0; rank < 8; ++rank) {
    ranks.push_back(std::make_unique<RankDevice>(testDevice(), 1));
    for (const c10::Stream& stream :
         {ranks.back()->compute(), ranks.back()->data(), ranks.back()->receives(true),
          ranks.back()->receives(false)}) {
      EXPECT_EQ(std::count(streams.begin(), streams.end(), stream), 0);
      streams.push_back(stream);
    }
  }
  EXPECT_THAT([] { RankDevice(testDevice(), 1); },
              ThrowsMessage<Error>(
                  AllOf(HasSubstr("has 32 streams, and all are taken"), HasSubstr("fewer ranks"))));
  EXPECT_THROW(ranks[0]->newStream(), Error) << "nor one for a lane";
  EXPECT_NO_THROW(RankDevice(testDevice(1), 1)) << "another device has its own";
  ranks.pop_back();
  EXPECT_NO_THROW(RankDevice(testDevice(), 1)) << "a rank has ended";
}

TEST_F(RankDeviceTest, ADeviceThatIsNotThereIsRefused) {
  setTestDeviceCount(2);
  EXPECT_THAT([] { RankDevice(testDevice(2), 1); },
              ThrowsMessage<Error>(HasSubstr("this machine has 2 of that kind")));
  EXPECT_THROW(RankDevice(c10::Device(c10::kCPU), 1), Error);
  EXPECT_THROW(RankDevice(testDevice(), 0), Error);
}

TEST_F(RankDeviceTest, RanksTakeDevicesInTurnWhereTheyShareThem) {
  setTestDeviceCount(2);
  const c10::DeviceType type = testDevice().type();
  EXPECT_EQ(deviceOfRank(type, 1, false), testDevice(1));
  EXPECT_EQ(deviceOfRank(type, 3, true), testDevice(1));
  EXPECT_THAT([&] { deviceOfRank(type, 2, false); },
              ThrowsMessage<Error>(HasSubstr("there are 2; --share-devices")));
  setTestDeviceCount(1);
  EXPECT_THAT([&] { deviceOfRank(type, 1, false); },
              ThrowsMessage<Error>(HasSubstr("there is one; --share-devices")));
  setTestDeviceCount(0);
  for (const bool share : {false, true}) {
    EXPECT_THAT([&] { deviceOfRank(type, 0, share); },
                ThrowsMessage<Error>(HasSubstr("there is none")));
  }
  EXPECT_EQ(deviceOfRank(c10::kCPU, 7, false), c10::Device(c10::kCPU));
}

TEST_F(RankDeviceTest, TheHostWaitsOnlyForTheJobThatIsAsFarBackAsItMayBeAhead) {
  RankDevice device(testDevice(), 3);
  const RankDevice::Current current(device);
  for (int job = 0; job < 10; ++job) {
    device.awaitRoom();
    at::ones({2}, testDevice()).add_(1);
    device.queued(device.record());
  }
  EXPECT_EQ(hostWaits().events, 7);
  EXPECT_EQ(hostWaits().total(), 7);
}

TEST_F(RankDeviceTest, AThreadHasItsStreamAndItsBackwardsAgainAfterwards) {
  const c10::impl::VirtualGuardImpl guard(testDevice().type());
  const RankDevice device(testDevice(1), 1);
  c10::AutogradState::get_tls_state().set_multithreading_enabled(true);
  const c10::Stream before = guard.getStream(testDevice(1));
  {
    const RankDevice::Current current(device);
    EXPECT_EQ(guard.getStream(testDevice(1)), device.compute());
    EXPECT_EQ(guard.getDevice(), testDevice(1));
    EXPECT_FALSE(c10::AutogradState::get_tls_state().get_multithreading_enabled());
  }
  EXPECT_EQ(guard.getStream(testDevice(1)), before);
  EXPECT_EQ(guard.getDevice(), testDevice(0));
  EXPECT_TRUE(c10::AutogradState::get_tls_state().get_multithreading_enabled());
}

}  // namespace
}  // namespace pipetrace
