#include "profiler/ring/spsc_ring.h"

#include <gmock/gmock.h>

#include <cstdint>
#include <thread>

namespace pipetrace {
namespace {

TEST(SpscRingTest, ItemsComeOutInOrderAndFullRingRefuses) {
  SpscRing<int> ring(3);
  ASSERT_EQ(ring.capacity(), 4u);
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(ring.push(i));
  EXPECT_FALSE(ring.push(4));
  for (int i = 0; i < 4; ++i) {
    ASSERT_NE(ring.front(), nullptr);
    EXPECT_EQ(*ring.front(), i);
    ring.pop();
  }
  EXPECT_EQ(ring.front(), nullptr);
  EXPECT_TRUE(ring.push(5));
  EXPECT_EQ(ring.pushed(), 5u);
  EXPECT_EQ(ring.popped(), 4u);
}

TEST(SpscRingTest, AnItemWrittenInPiecesIsInTheQueueOnceItIsPublished) {
  SpscRing<int> ring(2);
  for (int i = 0; i < 5; ++i) {
    ASSERT_FALSE(ring.isFull());
    ring.prefetch();
    ring.next() = -1;
    EXPECT_EQ(ring.front(), nullptr);
    ring.next() = i;
    ring.publish();
    ASSERT_NE(ring.front(), nullptr);
    EXPECT_EQ(*ring.front(), i);
    ring.pop();
  }
  ring.push(5);
  ring.push(6);
  EXPECT_TRUE(ring.isFull());
  ring.pop();
  EXPECT_FALSE(ring.isFull());
}

TEST(SpscRingTest, TwoThreadsLoseAndReorderNothing) {
  constexpr std::uint64_t kItems = 200'000;
  SpscRing<std::uint64_t> ring(64);
  std::thread producer([&] {
    for (std::uint64_t i = 0; i < kItems;) {
      if (ring.push(i)) {
        ++i;
      } else {
        std::this_thread::yield();
      }
    }
  });
  std::uint64_t mismatches = 0;
  for (std::uint64_t expected = 0; expected < kItems;) {
    const std::uint64_t* item = ring.front();
    if (item == nullptr) {
      std::this_thread::yield();
      continue;
    }
    if (*item != expected++) ++mismatches;
    ring.pop();
  }
  producer.join();
  EXPECT_EQ(mismatches, 0u);
}

}  // namespace
}  // namespace pipetrace
