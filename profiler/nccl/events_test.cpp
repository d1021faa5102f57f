#include "profiler/nccl/events.h"

#include <gmock/gmock.h>

namespace pipetrace {
namespace {

constexpr Nanoseconds kMs = kNsPerMs;

NcclEventDescription described(std::uint64_t type, NcclEvents::Handle parent = 0) {
  NcclEventDescription description{};
  description.type = type;
  description.parent = reinterpret_cast<void*>(static_cast<std::uintptr_t>(parent));
  return description;
}

NcclEventDescription allReduce(NcclEvents::Handle parent, std::uint64_t sequence,
                               std::uint8_t channels = 0) {
  NcclEventDescription description = described(nccl_event::kCollective, parent);
  description.collective = {.sequence = sequence,
                            .function = "AllReduce",
                            .count = 1024,
                            .dataType = "ncclFloat32",
                            .channels = channels,
                            .algorithm = "RING",
                            .protocol = "LL"};
  return description;
}

NcclEventDescription channel(NcclEvents::Handle parent, std::uint64_t gpuTime) {
  NcclEventDescription description = described(nccl_event::kKernelChannel, parent);
  description.kernelChannel.gpuTime = gpuTime;
  return description;
}

class NcclEventsTest : public testing::Test {
 protected:
  std::vector<NcclOperation> taken(NcclEvents& events, Nanoseconds now, bool all = false) {
    std::vector<NcclOperation> operations;
    events.take(now, all, operations);
    return operations;
  }
  NcclCommunicator communicator;
};

TEST_F(NcclEventsTest, AnOperationBelongsToTheJobThatWasOpenWhenItWasCalled) {
  NcclEvents events(16);
  const auto call = events.start(communicator, described(nccl_event::kCollectiveCall), 41, 10);
  events.stop(call, 20);  // a call has returned when its group ends and NCCL reports the operation
  const auto operation = events.start(communicator, allReduce(call, 7), 42, 30);
  EXPECT_TRUE(taken(events, 35).empty()) << "not queued yet";
  events.stop(operation, 40);
  const auto operations = taken(events, 50);
  ASSERT_EQ(operations.size(), 1U);
  EXPECT_EQ(operations[0].job, 41);
  EXPECT_EQ(operations[0].called, 10);
  EXPECT_EQ(operations[0].queued, 40);
  EXPECT_EQ(operations[0].bytes, 4096);
  EXPECT_EQ(operations[0].sequence, 7);
  EXPECT_STREQ(operations[0].algorithm.data(), "RING");
  EXPECT_TRUE(taken(events, 60).empty()) << "each once";
}

TEST_F(NcclEventsTest, TheKernelsTimesAreThoseOfAllChannelsAndMayComeAfterTheStop) {
  NcclEvents events(16, true);
  const auto operation = events.start(communicator, allReduce(0, 0, 2), 1, kMs);
  events.stop(operation, 2 * kMs);
  // The device's timer is 500 ns behind; stamps arrive 10, 20, 30 and 0 ns after they were made.
  const auto first =
      events.start(communicator, channel(operation, 3 * kMs - 500), -1, 3 * kMs + 10);
  const auto second =
      events.start(communicator, channel(operation, 3 * kMs - 400), -1, 3 * kMs + 120);
  events.stopKernelChannel(second, 5 * kMs - 500, 5 * kMs + 30);
  events.stop(second, 5 * kMs + 30);
  EXPECT_TRUE(taken(events, 6 * kMs).empty()) << "one channel is still at work";
  events.stopKernelChannel(first, 6 * kMs - 500, 6 * kMs);
  events.stop(first, 6 * kMs);
  const auto operations = taken(events, 7 * kMs);
  ASSERT_EQ(operations.size(), 1U);
  EXPECT_EQ(operations[0].begin, 3 * kMs + 10) << "as far as was known then";
  EXPECT_EQ(operations[0].end, 6 * kMs);
}

TEST_F(NcclEventsTest, ChannelsThatNeverStopAreNotWaitedForLong) {
  NcclEvents events(16, true);
  events.stop(events.start(communicator, allReduce(0, 0, 4), 1, 0), 10);
  EXPECT_TRUE(taken(events, NcclEvents::kPatience).empty());
  EXPECT_EQ(taken(events, NcclEvents::kPatience + 10).size(), 1U);
  events.stop(events.start(communicator, allReduce(0, 1, 4), 1, 20), 30);
  EXPECT_EQ(taken(events, 40, true).size(), 1U);
}

TEST_F(NcclEventsTest, AFullPoolIsOverwrittenAndLostOperationsAreCounted) {
  NcclEvents events(8);
  std::vector<NcclEvents::Handle> handles;
  for (std::uint64_t i = 0; i < 20; ++i) {
    handles.push_back(events.start(communicator, allReduce(0, i), 1, 0));
  }
  for (const auto handle : handles) events.stop(handle, 1);
  const auto operations = taken(events, 2);
  ASSERT_EQ(operations.size(), 8U);
  EXPECT_EQ(operations.front().sequence, 12);
  EXPECT_EQ(events.lost(), 12);
  EXPECT_EQ(events.strays(), 12) << "stops of events that were gone";
  events.stop(events.start(communicator, allReduce(handles[0], 20), 1, 3), 4);
  EXPECT_EQ(taken(events, 5).size(), 1U) << "and it goes on, a lost parent notwithstanding";
  EXPECT_EQ(events.lost(), 12);
}

TEST_F(NcclEventsTest, CallsThatMakeNoSenseAreIgnored) {
  NcclEvents events(8);
  EXPECT_EQ(events.start(communicator, described(1), 1, 0), 0U) << "a type we do not record";
  EXPECT_EQ(events.start(communicator, described(std::uint64_t{1} << 40), 1, 0), 0U);
  events.stop(0, 1);
  events.stop(12345, 1);
  events.stopKernelChannel(99, 5, 6);
  const auto orphan = events.start(communicator, channel(0, 5), -1, 6);
  events.stopKernelChannel(orphan, 7, 8);
  events.stop(orphan, 8);
  NcclEventDescription nameless = described(nccl_event::kPointToPoint);
  const auto operation = events.start(communicator, nameless, 1, 10);
  events.stopKernelChannel(operation, 7, 8);  // no channel
  events.stop(operation, 11);
  events.stop(operation, 99);
  const auto operations = taken(events, 100);
  ASSERT_EQ(operations.size(), 1U);
  EXPECT_EQ(operations[0].queued, 11);
  EXPECT_EQ(operations[0].bytes, kNotGiven);
}

TEST(GpuTimerOffsetTest, TheStampThatArrivedSoonestCounts) {
  GpuTimerOffset offset;
  EXPECT_EQ(offset.place(1000, 5000), 5000);
  EXPECT_EQ(offset.place(2000, 5900), 5900) << "100 ns sooner";
  EXPECT_EQ(offset.place(3000, 9999), 6900);
}

TEST(GpuTimerOffsetTest, ATimerThatDriftsIsFollowed) {
  // 18 ppm slow for an hour, stamps every 10 ms that arrive 1 to 8 us late.
  GpuTimerOffset offset;
  Nanoseconds worst = 0;
  for (Nanoseconds now = 0; now < 3600 * kNsPerSecond; now += 10 * kMs) {
    const auto gpu = static_cast<std::uint64_t>(now - now * 18 / 1'000'000 + 7'000'000'000);
    const Nanoseconds delay = 1000 + now / kMs * 7919 % 7000;
    worst = std::max(worst, std::abs(offset.place(gpu, now + delay) - now));
  }
  EXPECT_LE(worst, 30 * kNsPerUs);
}

}  // namespace
}  // namespace pipetrace
