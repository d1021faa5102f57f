// simulate() with bandwidth, full plans, asynchronous plans and counters.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedule/add_transfers.h"
#include "schedule/build_schedule.h"
#include "schedule/file/schedule_file.h"
#include "schedule/simulate/simulate.h"
#include "schedule/testing/simulated_events.h"

namespace pipetrace {
namespace {

using test::eventsOf;
using testing::ElementsAre;

std::vector<std::pair<Nanoseconds, Nanoseconds>> spansOf(const std::vector<Event>& events) {
  std::vector<std::pair<Nanoseconds, Nanoseconds>> spans;
  for (const Event& event : events) spans.emplace_back(event.begin, event.end);
  return spans;
}

std::int64_t integerOf(const Timeline& timeline, const Event& event, std::string_view key) {
  for (const Argument& argument : timeline.argumentsOf(event)) {
    if (timeline.strings[argument.key] == key) return argument.integer;
  }
  return -1;
}

TEST(SimulatePlans, MessagesTakeTurnsOnALinkAndCarryTheirBytes) {
  Costs costs = Costs::equal(2, {10, 20});
  for (StageCosts& stage : costs.stages) stage.message = 30;
  costs.bandwidth = 2e9;
  costs.transfer = 2;
  const Simulation result = simulate(buildSchedule("FThenB", 2, 3), costs);
  using Spans = std::vector<std::pair<Nanoseconds, Nanoseconds>>;
  EXPECT_EQ(spansOf(eventsOf(result, 0, kSendLane)), (Spans{{10, 27}, {25, 42}, {40, 57}}));
  EXPECT_EQ(spansOf(eventsOf(result, 1, kRecvLane)), (Spans{{10, 27}, {25, 42}, {40, 57}}));
  for (const Event& event : eventsOf(result, 1, kRecvLane)) {
    EXPECT_EQ(integerOf(result.timeline, event, "bytes"), 30);
  }
}

TEST(SimulatePlans, ReceiveStartsWhenItIsPostedAndSendWhenItIsHandedOver) {
  Costs costs = Costs::equal(2, {10, 20});
  costs.transfer = 5;
  const Simulation result =
      simulate(addTransfers(buildSchedule("1F1B", 2, 2), {.ahead = 2}), costs);
  using Spans = std::vector<std::pair<Nanoseconds, Nanoseconds>>;
  EXPECT_EQ(spansOf(eventsOf(result, 0, kSendLane)), (Spans{{10, 15}, {20, 25}}));
  EXPECT_EQ(spansOf(eventsOf(result, 1, kRecvLane)), (Spans{{0, 15}, {0, 25}}));
  EXPECT_EQ(eventsOf(result, 1, kRecvLane)[1].job, eventsOf(result, 1)[2].job);
  EXPECT_EQ(result.length, 100);
}

TEST(SimulatePlans, AsynchronousPlanHasAnOptimizerJobAtEachUpdateAndVersions) {
  Costs costs = Costs::equal(2, {10, 20});
  costs.optimizer = 3;
  const Simulation result = simulate(buildSchedule("PipeDream", 2, 4), costs, {.steps = 2});
  const auto& events = eventsOf(result, 1);
  ASSERT_EQ(events.size(), 24U);
  for (std::size_t i = 0; i < events.size(); i += 3) {
    const auto micro = static_cast<std::int64_t>(i / 3);
    EXPECT_EQ(events[i].kind, JobKind::kForward);
    EXPECT_EQ(integerOf(result.timeline, events[i], "version"), micro);
    EXPECT_EQ(integerOf(result.timeline, events[i + 1], "version"), micro);
    EXPECT_EQ(events[i + 2].kind, JobKind::kOptimizer);
    EXPECT_EQ(events[i + 2].begin, events[i + 1].end);
    EXPECT_EQ(events[i + 2].duration(), 3);
    EXPECT_EQ(events[i + 2].stage, 1);
    EXPECT_EQ(events[i + 2].chunk, events[i].chunk);
    EXPECT_EQ(integerOf(result.timeline, events[i + 2], "version"), micro + 1);
  }
  EXPECT_EQ(result.ranks[0].versions, 2);
  EXPECT_EQ(result.ranks[1].versions, 1);
  std::set<std::int64_t> ids;
  for (const Event& event : events) ids.insert(event.job);
  EXPECT_EQ(ids.size(), events.size());
}

TEST(SimulatePlans, SynchronousJobsHaveNoVersion) {
  const Simulation result = simulate(buildSchedule("1F1B", 2, 2), Costs::equal(2, {10, 20}));
  EXPECT_EQ(integerOf(result.timeline, eventsOf(result, 0)[0], "version"), -1);
}

TEST(SimulatePlans, CountersShowHeldActivationsAndMemoryOverTime) {
  Costs costs = Costs::equal(2, {.forward = 10, .backward = 20, .activation = 7, .weights = 100});
  EXPECT_TRUE(simulate(buildSchedule("1F1B", 2, 2), costs).timeline.counters.empty());
  const Simulation result = simulate(buildSchedule("1F1B", 2, 2), costs, {.counters = true});
  ASSERT_EQ(result.timeline.counters.size(), 4U);
  const CounterSeries& live = result.timeline.counters[0];
  const CounterSeries& memory = result.timeline.counters[1];
  EXPECT_EQ(live.name, "live_activations");
  EXPECT_EQ(memory.name, "memory");
  // Rank 0: F0 0-10, F1 10-20, B0 40-60, B1 70-90.
  std::vector<std::pair<Nanoseconds, double>> samples;
  for (const CounterSample& sample : live.samples) samples.emplace_back(sample.time, sample.value);
  using Pair = std::pair<Nanoseconds, double>;
  EXPECT_THAT(samples, ElementsAre(Pair{0, 1}, Pair{10, 2}, Pair{60, 1}, Pair{90, 0}));
  EXPECT_EQ(memory.samples[1].value, 114);
  EXPECT_EQ(result.ranks[0].peakMemory, 114);
}

TEST(SimulatePlans, SpanAndIdleArePartsOfTheLength) {
  const Simulation result = simulate(buildSchedule("1F1B", 2, 2), Costs::equal(2, {10, 20}));
  EXPECT_EQ(result.ranks[0].span(), 90);
  EXPECT_EQ(result.ranks[0].idle(), 30);
  EXPECT_EQ(result.ranks[1].span(), 60);
  EXPECT_EQ(result.ranks[1].idle(), 0);
}

}  // namespace
}  // namespace pipetrace
