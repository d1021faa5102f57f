#include "profiler/clock/host_clock.h"

#include <gmock/gmock.h>

#include <sched.h>

#include <atomic>
#include <thread>

#include "profiler/clock/wall_clock.h"

namespace pipetrace {
namespace {

using testing::Values;

class HostClockTest : public testing::TestWithParam<TickSource> {};

// Where the machine has no invariant counter, both cases are the same one.
INSTANTIATE_TEST_SUITE_P(Sources, HostClockTest,
                         Values(bestTickSource(), TickSource::kMonotonicRaw),
                         [](const auto& which) { return "case" + std::to_string(which.index); });

TEST_P(HostClockTest, AReadingBecomesTheTimeOfTheMonotonicClock) {
  HostClock clock(GetParam());
  constexpr int kReadings = 200;
  std::vector<Nanoseconds> off;
  for (int i = 0; i < kReadings; ++i) {
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    const Nanoseconds before = monotonicNow();
    const std::uint64_t ticks = clock.ticks();
    const Nanoseconds after = monotonicNow();
    clock.addAnchor();
    Nanoseconds time = 0;
    while (!clock.monotonicAt(ticks, time)) clock.addAnchor();
    off.push_back(std::max({before - time, time - after, Nanoseconds{0}}));
  }
  // Some of the readings may have been interrupted, but the bracket widens with them.
  std::sort(off.begin(), off.end());
  EXPECT_LE(off[kReadings * 9 / 10], 200);
  EXPECT_LE(off.back(), kNsPerUs * 20);
}

TEST_P(HostClockTest, AReadingAfterTheLastAnchorHasNoTimeYet) {
  HostClock clock(GetParam());
  const std::uint64_t ticks = clock.ticks();
  Nanoseconds time = 0;
  EXPECT_FALSE(clock.monotonicAt(ticks, time));
  std::this_thread::sleep_for(std::chrono::seconds(1));  // so that even a slow reading is taken
  clock.addAnchor();
  clock.addAnchor();
  EXPECT_TRUE(clock.monotonicAt(ticks, time));
}

TEST_P(HostClockTest, ARoughLengthIsNearTheExactOne) {
  HostClock clock(GetParam());
  constexpr std::uint64_t kTicks = 1'000'000'000;
  const Nanoseconds exact = clock.duration(kTicks);
  EXPECT_NEAR(static_cast<double>(clock.roughly(kTicks)), static_cast<double>(exact),
              0.01 * static_cast<double>(exact));
}

TEST_P(HostClockTest, TimesNeverGoBackwards) {
  HostClock clock(GetParam());
  std::vector<std::uint64_t> ticks;
  for (int i = 0; i < 20'000; ++i) {
    ticks.push_back(clock.ticks());
    if (i % 100 == 0) clock.addAnchor();
  }
  Nanoseconds before = kNsMin;
  int known = 0;
  for (const std::uint64_t reading : ticks) {
    Nanoseconds time = 0;
    if (!clock.monotonicAt(reading, time)) break;
    EXPECT_GE(time, before);
    before = time;
    ++known;
  }
  EXPECT_GT(known, 15'000);
}

TEST_P(HostClockTest, RanksOfOneHostAgreeToAMicrosecond) {
  HostClock first(GetParam());
  HostClock second(GetParam());
  std::vector<Nanoseconds> apart;
  for (int i = 0; i < 100; ++i) {
    std::this_thread::sleep_for(std::chrono::microseconds(500));
    const std::uint64_t ticks = first.ticks();
    Nanoseconds a = 0;
    Nanoseconds b = 0;
    while (!first.monotonicAt(ticks, a)) first.addAnchor();
    while (!second.monotonicAt(ticks, b)) second.addAnchor();
    apart.push_back(std::abs(a - b));
  }
  std::sort(apart.begin(), apart.end());
  EXPECT_LE(apart[90], kNsPerUs);
}

/// The calling thread shares its processor with another that never waits.
class CrowdedProcessor {
 public:
  CrowdedProcessor() {
    sched_getaffinity(0, sizeof(before_), &before_);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof(one), &one);  // the other thread inherits it
    other_ = std::thread([this] {
      while (!isOver_.load(std::memory_order_relaxed)) {
      }
    });
  }
  ~CrowdedProcessor() {
    isOver_ = true;
    other_.join();
    sched_setaffinity(0, sizeof(before_), &before_);
  }

 private:
  cpu_set_t before_{};
  std::atomic<bool> isOver_ = false;
  std::thread other_;
};

TEST_P(HostClockTest, BothClocksAreReadAtOneMomentThoughTheThreadIsInterrupted) {
  HostClock clock(GetParam());
  std::vector<ClockAnchor> readings;
  {
    const CrowdedProcessor crowded;
    const Nanoseconds start = monotonicNow();
    while (monotonicNow() - start < 400 * kNsPerMs) readings.push_back(clock.now());
  }
  Nanoseconds off = 0;
  for (const ClockAnchor& reading : readings) {
    Nanoseconds time = 0;
    while (!clock.monotonicAt(reading.ticks, time)) clock.addAnchor();
    off = std::max(off, std::abs(time - reading.monotonic));
  }
  EXPECT_GT(readings.size(), 1000u);
  EXPECT_LE(off, 20 * kNsPerUs);
}

TEST_P(HostClockTest, OldAnchorsAreThinnedOutAndOldReadingsStillHaveTimes) {
  HostClock clock(GetParam());
  const std::uint64_t early = clock.anchors().back().ticks - 1;
  Nanoseconds before = 0;
  ASSERT_TRUE(clock.monotonicAt(early, before));
  for (int i = 0; i < 20'000; ++i) clock.addAnchor();
  EXPECT_LT(clock.anchors().size(), 2049u);
  Nanoseconds after = 0;
  ASSERT_TRUE(clock.monotonicAt(early, after));
  EXPECT_NEAR(static_cast<double>(after - before), 0, 1000);
}

TEST(TickSourceTest, TheCounterIsTakenOnlyWhereItIsInvariant) {
  const auto of = [](const char* flags) {
    return tickSourceOf((std::string("processor : 0\nflags\t\t: fpu ") + flags + "\n").c_str());
  };
  EXPECT_EQ(of("tsc rdtscp"), TickSource::kMonotonicRaw);
  EXPECT_EQ(of("tsc constant_tsc"), TickSource::kMonotonicRaw);
  EXPECT_EQ(of("tsc nonstop_tsc"), TickSource::kMonotonicRaw);
  EXPECT_EQ(tickSourceOf(""), TickSource::kMonotonicRaw);
#if defined(__x86_64__)
  EXPECT_EQ(of("constant_tsc nonstop_tsc"), TickSource::kTsc);
#endif
}

}  // namespace
}  // namespace pipetrace
