#include "profiler/mpsc_ring.h"

#include <gmock/gmock.h>

#include <array>
#include <thread>
#include <vector>

namespace pipetrace {
namespace {

TEST(MpscRingTest, ItemsComeOutInOrderAndFullRingRefuses) {
  MpscRing<int> ring(4);
  for (int lap = 0; lap < 3; ++lap) {
    for (int i = 0; i < 4; ++i) EXPECT_TRUE(ring.push(i));
    EXPECT_FALSE(ring.push(4));
    for (int i = 0; i < 4; ++i) {
      int item = -1;
      ASSERT_TRUE(ring.pop(item));
      EXPECT_EQ(item, i);
    }
    int item = -1;
    EXPECT_FALSE(ring.pop(item));
  }
}

TEST(MpscRingTest, EveryThreadsItemsArriveOnceAndInItsOrder) {
  constexpr int kThreads = 4;
  constexpr int kItems = 20'000;
  struct Item {
    int thread;
    int number;
  };
  MpscRing<Item> ring(128);
  std::vector<std::thread> producers;
  for (int t = 0; t < kThreads; ++t) {
    producers.emplace_back([&ring, t] {
      for (int i = 0; i < kItems;) {
        if (ring.push({t, i})) {
          ++i;
        } else {
          std::this_thread::yield();
        }
      }
    });
  }
  std::array<int, kThreads> next{};
  int mismatches = 0;
  for (int received = 0; received < kThreads * kItems;) {
    Item item{};
    if (!ring.pop(item)) {
      std::this_thread::yield();
      continue;
    }
    ++received;
    if (item.number != next[static_cast<std::size_t>(item.thread)]++) ++mismatches;
  }
  for (std::thread& producer : producers) producer.join();
  EXPECT_EQ(mismatches, 0);
}

}  // namespace
}  // namespace pipetrace
