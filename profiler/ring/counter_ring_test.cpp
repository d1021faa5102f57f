#include "profiler/ring/counter_ring.h"

#include <gmock/gmock.h>

#include <thread>
#include <vector>

namespace pipetrace {
namespace {

struct Ring {
  explicit Ring(std::size_t slots) : memory(slots), ring(memory.data(), slots, freed, dropped) {}
  std::vector<CounterRing::Slot> memory;
  std::uint64_t freed = 0;
  std::uint64_t dropped = 0;
  CounterRing ring;
};

TEST(CounterRingTest, SamplesComeOutInOrderAndAFullRingDrops) {
  Ring r(4);
  for (int i = 0; i < 6; ++i) r.ring.push({.value = static_cast<double>(i)});
  EXPECT_EQ(r.ring.dropped(), 2);
  for (int i = 0; i < 4; ++i) {
    const CounterRing::Slot* sample = r.ring.take();
    ASSERT_NE(sample, nullptr);
    EXPECT_EQ(sample->value, i);
  }
  EXPECT_EQ(r.ring.take(), nullptr);
}

TEST(CounterRingTest, ASampleKeepsItsSlotUntilItIsFreed) {
  Ring r(2);
  r.ring.push({.value = 1});
  r.ring.push({.value = 2});
  const CounterRing::Slot* first = r.ring.take();
  ASSERT_NE(first, nullptr);
  r.ring.push({.value = 3});
  EXPECT_EQ(r.ring.dropped(), 1);
  EXPECT_EQ(first->value, 1);
  EXPECT_EQ(r.freed, 0u);
  r.ring.free(1);
  EXPECT_EQ(r.freed, 1u);
  r.ring.push({.value = 4});
  EXPECT_EQ(r.ring.dropped(), 1);
}

TEST(CounterRingTest, SamplesOfManyThreadsArriveOrAreCountedAsDropped) {
  Ring r(64);
  constexpr int kThreads = 4;
  constexpr int kEach = 20'000;
  std::vector<std::thread> threads;
  std::atomic<int> running = kThreads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) {
        r.ring.push({.name = static_cast<std::uint64_t>(t), .value = static_cast<double>(i)});
      }
      --running;
    });
  }
  std::vector<double> last(kThreads, -1);
  int got = 0;
  for (bool done = false; !done;) {
    done = running == 0;
    while (const CounterRing::Slot* sample = r.ring.take()) {
      EXPECT_GT(sample->value, last[sample->name]);  // each thread's samples stay in order
      last[sample->name] = sample->value;
      ++got;
      r.ring.free(1);
    }
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(got + r.ring.dropped(), kThreads * kEach);
}

}  // namespace
}  // namespace pipetrace
