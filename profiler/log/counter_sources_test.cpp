#include "profiler/log/counter_sources.h"

#include <gmock/gmock.h>

#include <vector>

namespace pipetrace {
namespace {

using testing::ElementsAre;

constexpr Nanoseconds kStart = 1000 * kNsPerSecond;

class CounterSourcesTest : public testing::Test {
 protected:
  /// Asks that many milliseconds after the start; whether there was a sample.
  bool samplesAt(std::int64_t milliseconds) {
    const Nanoseconds now = kStart + milliseconds * kNsPerMs;
    sources.sample(ring, now);
    const CounterRing::Slot* const slot = ring.take();
    if (slot != nullptr) ring.free(1);
    return slot != nullptr && slot->monotonic == now;
  }

  std::vector<CounterRing::Slot> slots = std::vector<CounterRing::Slot>(8);
  std::uint64_t freed = 0;
  std::uint64_t dropped = 0;
  CounterRing ring{slots.data(), slots.size(), freed, dropped};
  CounterSources sources;
};

TEST_F(CounterSourcesTest, WaitingAsLongAsItSaysGivesTenSamplesASecondHoweverLateEachIs) {
  sources.add("depth", "", [] { return 1.0; });
  std::vector<Nanoseconds> waits;
  int samples = 0;
  for (Nanoseconds now = kStart; now < kStart + kNsPerSecond;) {
    samples += samplesAt((now - kStart) / kNsPerMs) ? 1 : 0;
    waits.push_back(sources.untilNext(now));
    now += waits.back() + 7 * kNsPerMs;  // the log thread had other things to do
  }
  EXPECT_EQ(samples, 10);
  EXPECT_EQ(waits[0], CounterSources::kInterval);
  EXPECT_EQ(waits[1], CounterSources::kInterval - 7 * kNsPerMs);
}

TEST_F(CounterSourcesTest, ACallThatComesTooSoonTakesNoSample) {
  sources.add("depth", "", [] { return 1.0; });
  std::vector<std::int64_t> times;
  for (std::int64_t at = 0; at < 500; at += 60) {
    if (samplesAt(at)) times.push_back(at);
  }
  EXPECT_THAT(times, ElementsAre(0, 120, 240, 300, 420));
}

TEST_F(CounterSourcesTest, MissedSamplesAreNotMadeUpFor) {
  sources.add("depth", "", [] { return 1.0; });
  EXPECT_TRUE(samplesAt(0));
  EXPECT_TRUE(samplesAt(1030));
  EXPECT_FALSE(samplesAt(1031));
  EXPECT_FALSE(samplesAt(1129));
  EXPECT_TRUE(samplesAt(1130));
}

TEST_F(CounterSourcesTest, AFunctionThatThrowsMakesNoSampleAndIsCounted) {
  sources.add("depth", "", []() -> double { throw 1; });
  sources.add("loss", "", [] { return 2.0; });
  EXPECT_TRUE(samplesAt(0)) << "of the other one";
  EXPECT_EQ(sources.failures(), 1);
  EXPECT_TRUE(samplesAt(100));
  EXPECT_EQ(sources.failures(), 2);
}

TEST_F(CounterSourcesTest, UnwantedSamplesAreNotTakenAndNotWaitedFor) {
  int asked = 0;
  sources.add("depth", "", [&] { return ++asked; });
  sources.sample(ring, kStart, false);
  EXPECT_EQ(asked, 0);
  EXPECT_EQ(ring.take(), nullptr);
  EXPECT_EQ(sources.untilNext(kStart), CounterSources::kInterval);
}

TEST_F(CounterSourcesTest, WithoutACounterTheThreadIsNotWoken) {
  EXPECT_EQ(sources.untilNext(kStart), kNsMax);
  sources.add("depth", "", [] { return 1.0; });
  EXPECT_EQ(sources.untilNext(kStart), 0) << "a short run has a sample, too";
}

}  // namespace
}  // namespace pipetrace
