#include "profiler/ring/lane.h"

#include <gmock/gmock.h>

#include "profiler/testing/scripted_stream.h"

namespace pipetrace {
namespace {

constexpr std::uint32_t kSlots = 4;

/// A lane in ordinary memory, and both of its sides on one thread.
struct LaneUnderTest {
  explicit LaneUnderTest(std::unique_ptr<DeviceStream> stream = std::make_unique<ScriptedStream>())
      : lane({.name = "compute", .slots = kSlots}, std::move(stream), file) {}

  void record(int jobs) {
    for (int i = 0; i < jobs; ++i) {
      lane.begin({}, next++, 0);
      lane.end(kNotGiven);
    }
  }
  void take(int jobs) {
    for (int i = 0; i < jobs; ++i) lane.take(1, 2);
  }

  std::int64_t next = 0;
  RingFile file{""};
  Lane lane;
};

/// Looks, whenever it is asked for a mark, at whether the lane has a job to take.
class LookingStream : public ScriptedStream {
 public:
  Mark mark() noexcept override {
    if (lane != nullptr && (lane->front() != nullptr || lane->finished() > 0)) sawJob = true;
    return ScriptedStream::mark();
  }

  const Lane* lane = nullptr;
  bool sawJob = false;
};

TEST(LaneTest, AJobCanBeTakenOnceItHasEnded) {
  auto owned = std::make_unique<LookingStream>();
  LookingStream& stream = *owned;
  LaneUnderTest test(std::move(owned));
  stream.lane = &test.lane;
  test.lane.begin({.bytes = 1}, 7, 0);
  test.lane.end(4096);
  EXPECT_FALSE(stream.sawJob) << "before its end was marked";
  const ring_format::Slot* const job = test.lane.front();
  ASSERT_NE(job, nullptr);
  EXPECT_EQ(job->id, 7);
  EXPECT_EQ(job->bytesOrDetails, 4096);
  EXPECT_EQ(test.lane.finished(), 1u);
}

TEST(LaneTest, ASlotIsUsedAgainOnceItAndAllBeforeItWereReleased) {
  LaneUnderTest test;
  test.record(kSlots);
  test.take(kSlots);
  test.lane.release(1);
  test.lane.release(2);
  test.lane.giveBack();
  test.record(1);
  EXPECT_EQ(test.lane.dropped(), 1) << "the oldest is kept";
  test.lane.release(0);
  test.record(1);
  EXPECT_EQ(test.lane.dropped(), 2) << "it was not given back yet";
  test.lane.giveBack();
  test.record(4);
  EXPECT_EQ(test.lane.dropped(), 3);
  EXPECT_EQ(test.lane.finished(), kSlots + 3u);
}

TEST(LaneTest, AChunkTooLargeForASlotIsLeftOut) {
  LaneUnderTest test;
  for (const std::int32_t chunk : {3, kNotGiven, 70'000}) {
    test.lane.begin({.chunk = chunk}, 0, 0);
    test.lane.end(kNotGiven);
  }
  EXPECT_EQ(test.lane.slot(0).chunk, 3);
  EXPECT_EQ(test.lane.slot(1).chunk, kNotGiven);
  EXPECT_EQ(test.lane.slot(2).chunk, kNotGiven);
}

TEST(LaneTest, TheOpenJobIsKnownFromItsBeginToItsEnd) {
  LaneUnderTest test;
  EXPECT_EQ(test.lane.openJob(), kNotGiven);
  test.lane.begin({}, 7, 0);
  EXPECT_EQ(test.lane.openJob(), 7);
  test.lane.end(kNotGiven);
  EXPECT_EQ(test.lane.openJob(), kNotGiven);
  test.record(kSlots - 1);
  test.lane.begin({}, 9, 0);  // finds the ring full
  EXPECT_EQ(test.lane.openJob(), kNotGiven);
}

TEST(LaneTest, OneJobInSixtyFourIsTimedAndStandsForAll) {
  LaneUnderTest test;
  const auto go = [&](int jobs) {
    for (int i = 0; i < jobs; ++i) {
      test.record(1);
      test.take(1);
      test.lane.release(static_cast<std::uint32_t>(test.lane.taken() - 1) % kSlots);
      test.lane.giveBack();
    }
  };
  go(32);
  EXPECT_EQ(test.lane.ownTicks(), 0u) << "the first is the 33rd, when the caches are warm";
  go(1);
  const std::uint64_t first = test.lane.ownTicks();
  go(31);
  EXPECT_EQ(test.lane.finished(), 64u);
  EXPECT_EQ(test.lane.ownTicks(), first / 33 * 64);
}

TEST(LaneTest, SlotsAreAPowerOfTwo) {
  EXPECT_EQ(Lane::roundedSlots(0), 1u);
  EXPECT_EQ(Lane::roundedSlots(64), 64u);
  EXPECT_EQ(Lane::roundedSlots(65), 128u);
  EXPECT_EQ(Lane::roundedSlots(std::size_t{1} << 40), std::size_t{1} << 24);
}

}  // namespace
}  // namespace pipetrace
