#include "analysis/causes/device_state.h"

#include <gmock/gmock.h>

#include <string>

#include "analysis/present/finding_sentences.h"
#include "analysis/testing/explained_run.h"
#include "analysis/testing/hybrid_run.h"

namespace pipetrace {
namespace {

using testing::DoubleNear;
using testing::HasSubstr;
using testing::Not;
using testing::Optional;

class DeviceStates : public testing::Test {
 protected:
  void add(int rank, const char* name, std::initializer_list<double> values) {
    timeline_.ranks[rank].rank = rank;
    CounterSeries& series = timeline_.counters.emplace_back();
    series.rank = rank;
    series.name = name;
    Nanoseconds time = 0;
    for (const double value : values) {
      series.samples.push_back({time, value});
      time += kNsPerSecond;
    }
  }

  Timeline timeline_;
};

TEST_F(DeviceStates, AClockThatIsLowerThanThatOfOthersIsAReason) {
  add(0, "gpu_sm_clock", {1755, 1755});
  add(1, "gpu_sm_clock", {1280, 1300});
  add(2, "gpu_sm_clock", {1750, 1760});
  const DeviceState state = deviceStateOf(timeline_, 1);
  EXPECT_THAT(state.clock, Optional(1290.0));
  EXPECT_THAT(state.peersClock, Optional(1755.0));
  EXPECT_TRUE(state.isReason());
  EXPECT_FALSE(deviceStateOf(timeline_, 0).isReason());
}

TEST_F(DeviceStates, TimeThatTheDriverCountedIsMoreExactThanReasonsAtSamples) {
  add(0, "gpu_clock_event_reasons", {0, 4, 0, 4});
  EXPECT_THAT(deviceStateOf(timeline_, 0).byPower, Optional(0.5));
  add(0, "gpu_power_violation", {1e9, 1.9e9, 2.7e9, 3.4e9});
  EXPECT_THAT(deviceStateOf(timeline_, 0).byPower, Optional(DoubleNear(0.8, 1e-9)));
  EXPECT_TRUE(deviceStateOf(timeline_, 0).isReason());
}

TEST_F(DeviceStates, HeatErrorsOfNvlinkAndMemoryOfOthersAreReasons) {
  add(0, "gpu_clock_event_reasons", {0x20, 0x40, 0, 0});
  EXPECT_THAT(deviceStateOf(timeline_, 0).byHeat, Optional(0.5));
  add(1, "gpu_nvlink_errors", {7, 7, 12});
  EXPECT_THAT(deviceStateOf(timeline_, 1).linkErrors, Optional(5.0));
  EXPECT_TRUE(deviceStateOf(timeline_, 1).isReason());
  add(2, "gpu_memory_of_others", {0, 12e9, 3e9});
  EXPECT_THAT(deviceStateOf(timeline_, 2).othersMemory, Optional(12e9));
  EXPECT_TRUE(deviceStateOf(timeline_, 2).isReason());
}

TEST_F(DeviceStates, WhatNobodySampledIsNotKnownAndNoReason) {
  add(0, "memory", {1, 2});
  const DeviceState state = deviceStateOf(timeline_, 0);
  EXPECT_FALSE(state.clock || state.peersClock || state.byPower || state.byHeat);
  EXPECT_FALSE(state.linkErrors || state.othersMemory);
  EXPECT_FALSE(state.isReason());
}

std::string slowRankText(const Timeline& timeline) {
  const auto run = explainRun(timeline, {});
  for (const Finding& finding : run.findings) {
    if (finding.kind == FindingKind::kSlowRank) return findingText(finding);
  }
  return {};
}

TEST_F(DeviceStates, TheFindingAboutASlowRankSaysWhatHeldItsGpuDown) {
  HybridRun made;
  made.kernel = [](const HybridRun::Kernel& kernel, Nanoseconds usual) {
    return kernel.rank == 1 ? usual / 4 * 5 : usual;
  };
  Timeline timeline = made.timeline();
  EXPECT_THAT(slowRankText(timeline), HasSubstr("rank 1 takes 1.25 times"));
  EXPECT_THAT(slowRankText(timeline), Not(HasSubstr("clock")));
  for (const int rank : {0, 1, 2, 3}) add(rank, "gpu_sm_clock", {rank == 1 ? 1290.0 : 1755.0});
  add(1, "gpu_power_violation", {0, 0.83e9});
  timeline.counters = timeline_.counters;
  EXPECT_THAT(slowRankText(timeline),
              HasSubstr("; its GPU's clock was 1290 MHz, that of others 1755 MHz, the power limit "
                        "held it down for 83.0 % of the time"));
}

}  // namespace
}  // namespace pipetrace
