#include "runtime/costs/repeated_times.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

namespace pipetrace {
namespace {

constexpr Nanoseconds kMs = kNsPerMs;
constexpr std::array<Nanoseconds, 4> kJobTimes{300'000, 1 * kMs, 2 * kMs, 8 * kMs};

/// A machine whose clock is a number. Others use it now and then, for stretches of random length:
/// then jobs take up to 60 % longer. A job's runs differ by up to 6 %, anyway.
class SharedMachine {
 public:
  /// `busy`: the share of its time that others use it.
  SharedMachine(unsigned seed, double busy) : random_(seed), busy_(busy) {}

  Nanoseconds now() const { return now_; }
  Nanoseconds run(Nanoseconds time) {
    if (now_ >= end_) change();
    const double factor = 1 + 0.06 * share_(random_) + slower_;
    const auto taken = static_cast<Nanoseconds>(factor * static_cast<double>(time));
    now_ += taken;
    return taken;
  }

 private:
  void change() {
    slower_ = share_(random_) < busy_ ? 0.1 + 0.5 * share_(random_) : 0;
    end_ = now_ + static_cast<Nanoseconds>((5 + 300 * share_(random_)) * static_cast<double>(kMs));
  }

  std::mt19937 random_;
  std::uniform_real_distribution<double> share_{0, 1};
  const double busy_;
  Nanoseconds now_ = 0;
  Nanoseconds end_ = 0;
  double slower_ = 0;
};

struct JobsMeasured {
  std::array<Nanoseconds, kJobTimes.size()> times = {};
  Nanoseconds taken = 0;
  int rounds = 0;
};

JobsMeasured measuredOn(SharedMachine machine, const RoundsWanted& wanted) {
  RepeatedTimes times;
  JobsMeasured result;
  const auto run = [&](int round) {
    result.rounds = round;
    for (std::size_t job = 0; job < kJobTimes.size(); ++job) {
      const Nanoseconds taken = machine.run(kJobTimes[job]);
      if (round > 0) times.add({JobKind::kForward, static_cast<int>(job)}, taken);
    }
  };
  repeatRounds(
      wanted, [&] { return machine.now(); }, run, times);
  for (std::size_t job = 0; job < kJobTimes.size(); ++job) {
    result.times[job] = times.of({JobKind::kForward, static_cast<int>(job)});
  }
  result.taken = machine.now();
  return result;
}

constexpr RoundsWanted kWanted{.rounds = 5, .atLeast = 1'500 * kMs, .atMost = 20'000 * kMs};

TEST(RepeatedTimes, TwoMeasurementsOnASharedMachineAgreeWithinFivePercent) {
  for (const double busy : {0.2, 0.5, 0.8}) {
    for (unsigned seed = 0; seed < 20; ++seed) {
      const JobsMeasured one = measuredOn(SharedMachine(seed, busy), kWanted);
      const JobsMeasured other = measuredOn(SharedMachine(seed + 100, busy), kWanted);
      for (std::size_t job = 0; job < kJobTimes.size(); ++job) {
        const auto [less, more] = std::minmax(one.times[job], other.times[job]);
        EXPECT_LE(static_cast<double>(more), 1.05 * static_cast<double>(less))
            << busy << " busy, seed " << seed << ", job " << job;
        EXPECT_GE(less, kJobTimes[job]);
        EXPECT_LE(static_cast<double>(more), 1.05 * 1.03 * static_cast<double>(kJobTimes[job]));
      }
      EXPECT_LE(one.taken, kWanted.atMost + 20 * kMs);
    }
  }
}

TEST(RepeatedTimes, AMachineOfItsOwnIsMeasuredNoLongerThanWanted) {
  const JobsMeasured quiet = measuredOn(SharedMachine(1, 0), kWanted);
  EXPECT_GE(quiet.taken, kWanted.atLeast);
  EXPECT_LE(quiet.taken, kWanted.atLeast + 250 * kMs);
  const JobsMeasured busy = measuredOn(SharedMachine(1, 0.8), kWanted);
  EXPECT_GT(busy.taken, 2 * kWanted.atLeast);
}

TEST(RepeatedTimes, OnlyRoundsAreCountedWhereNoTimeIsGiven) {
  EXPECT_EQ(measuredOn(SharedMachine(1, 0.8), {.rounds = 5}).rounds, 5);
  EXPECT_EQ(measuredOn(SharedMachine(1, 0.8), {.rounds = 0}).rounds, 0);
}

TEST(RepeatedTimes, ATimeIsTheMedianOfTheRunsWithinATenthOfTheShortest) {
  RepeatedTimes times;
  EXPECT_EQ(times.of({JobKind::kForward, 0}), 0);
  for (const Nanoseconds time : {190, 104, 150, 100, 109, 111, 106, 400}) {
    times.add({JobKind::kForward, 0}, time);
  }
  EXPECT_EQ(times.of({JobKind::kForward, 0}), 104) << "of 100, 104, 106, 109";
  EXPECT_FALSE(times.areSettled()) << "eight runs are too few";
}

TEST(RepeatedTimes, TimesThatBecameShorterAreNotSettled) {
  RepeatedTimes times;
  for (int i = 0; i < 40; ++i) times.add({JobKind::kForward, 0}, i < 20 ? 105'000 : 100'000);
  EXPECT_FALSE(times.areSettled());
  RepeatedTimes even;
  for (int i = 0; i < 40; ++i) even.add({JobKind::kForward, 0}, 100'000 + i % 2 * 5'000);
  EXPECT_TRUE(even.areSettled());
  even.add({JobKind::kOptimizer, 0}, 100'000);
  for (int i = 0; i < 40; ++i) even.add({JobKind::kBackwardWeight, 0}, 100 + i);
  EXPECT_TRUE(even.areSettled());
  even.add({JobKind::kBackward, 0}, 100'000);
  EXPECT_FALSE(even.areSettled());
}

}  // namespace
}  // namespace pipetrace
