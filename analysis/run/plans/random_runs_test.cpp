// Simulated runs of random plans, measured and recognised again.
#include <gmock/gmock.h>

#include <algorithm>
#include <random>

#include "analysis/run/plans/measured_plan.h"
#include "analysis/run/plans/recognise_schedule.h"
#include "analysis/run_summary.h"
#include "schedule/build_schedule.h"
#include "schedule/simulate/simulate.h"

namespace pipetrace {
namespace {

class RandomRuns {
 public:
  explicit RandomRuns(unsigned seed) : random_(seed) {}

  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }

  Plan plan() {
    const auto& known = knownSchedules();
    const ScheduleInfo* info = nullptr;
    do {
      info = &known[static_cast<std::size_t>(below(static_cast<int>(known.size())))];
    } while (info->dependsOnCosts);
    const int chunks = info->mostChunks > info->leastChunks ? 1 + below(4) : 0;
    return buildSchedule(info->name, {1 + below(8), 1 + below(24), chunks});
  }

  /// Two steps in which no two jobs take the same time.
  Timeline run(const Plan& plan) {
    Costs costs = Costs::equal(plan.numStages, {});
    for (StageCosts& stage : costs.stages) {
      stage = {1000 + below(900), 2000 + below(900), 1000 + below(900), 1000 + below(900)};
    }
    costs.transfer = below(3) * 100;
    costs.lr = below(2) * 10;
    costs.optimizer = below(2) * 500;
    for (int i = 0; i < 40; ++i) {
      const auto& row = plan.ranks[static_cast<std::size_t>(below(plan.numRanks()))];
      const Action& action = row[static_cast<std::size_t>(below(static_cast<int>(row.size())))];
      costs.faults.jobs.push_back({action, below(2), below(3000), below(3000)});
    }
    return simulate(CheckedPlan(plan), costs, {.steps = 2}).timeline;
  }

  /// The same with micro-batches that begin elsewhere and have gaps.
  static void spreadMicroBatches(Timeline& timeline) {
    for (Track& track : timeline.tracks) {
      for (Event& event : track.events) event.microBatch = 3 * event.microBatch + 5;
    }
  }

 private:
  std::mt19937 random_;
};

/// Whether some job names its micro-batch in its action alone.
bool hasPairs(const Plan& plan) {
  return plan.name.starts_with("DualPipe") || plan.name == "Combined1F1B";
}

/// All schedules that make exactly this plan, by comparing with each.
std::vector<std::string> namesOf(const Plan& plan) {
  std::vector<std::string> names;
  for (const ScheduleInfo& info : knownSchedules()) {
    const int chunks = plan.numStages / plan.numRanks();
    if (info.dependsOnCosts || chunks < info.leastChunks || chunks > info.mostChunks) continue;
    const Plan other = buildSchedule(info.name, {plan.numRanks(), plan.numMicroBatches, chunks});
    if (other.ranks == plan.ranks) names.emplace_back(info.name);
  }
  return names;
}

TEST(RandomRuns, TheScheduleOf400SimulatedRunsIsRecognised) {
  RandomRuns runs(2024);
  int right = 0;
  for (int round = 0; round < 400; ++round) {
    const Plan plan = runs.plan();
    SCOPED_TRACE(plan.name + " " + std::to_string(plan.numRanks()) + " ranks " +
                 std::to_string(plan.numMicroBatches) + " micro-batches " +
                 std::to_string(plan.numStages) + " stages");
    Timeline timeline = runs.run(plan);
    if (runs.below(4) == 0 && !hasPairs(plan)) RandomRuns::spreadMicroBatches(timeline);
    Diagnostics diagnostics;
    completeTimeline(timeline, diagnostics);
    const MeasuredPlan measured = measuredPlan(timeline, topologyOf(timeline), 0, runs.below(2));
    ASSERT_TRUE(measured.isWhole()) << measured.problem;
    EXPECT_FALSE(measured.countsMicroBatches);
    EXPECT_TRUE(measured.plan.ranks == plan.ranks);
    EXPECT_EQ(measured.plan.numStages, plan.numStages);
    EXPECT_EQ(measured.plan.numMicroBatches, plan.numMicroBatches);
    const RecognisedSchedule found = recogniseSchedule(measured.plan);
    EXPECT_TRUE(found.isExact);
    EXPECT_EQ(found.distance, 0);
    EXPECT_THAT(found.names, testing::UnorderedElementsAreArray(namesOf(plan)));
    EXPECT_THAT(found.names, testing::Contains(plan.name));
    EXPECT_TRUE(found.plan.ranks == plan.ranks);
    right += found.isExact && std::count(found.names.begin(), found.names.end(), plan.name) == 1;
  }
  EXPECT_EQ(right, 400);
}

// A logger that writes kinds and stages alone loses the order only where backward passes do not
// follow the order of the forwards.
TEST(RandomRuns, RunsWhoseJobsNameNoMicroBatchAreRecognisedByCounting) {
  RandomRuns runs(77);
  int measuredRuns = 0;
  for (int round = 0; round < 100; ++round) {
    const Plan plan = runs.plan();
    if (plan.name == "GPipe" || plan.name == "LoopedBFS" || plan.isBidirectional()) continue;
    if (plan.name == "Combined1F1B") continue;  // pairs without an action do not say their halves
    Timeline timeline = runs.run(plan);
    Diagnostics diagnostics;
    completeTimeline(timeline, diagnostics);
    for (Track& track : timeline.tracks) {
      for (Event& event : track.events) {
        event.microBatch = kNotGiven;
        event.argumentCount = 0;
      }
    }
    const MeasuredPlan measured = measuredPlan(timeline, topologyOf(timeline), 0, 1);
    ASSERT_TRUE(measured.isWhole()) << plan.name << ": " << measured.problem;
    EXPECT_TRUE(measured.countsMicroBatches);
    EXPECT_TRUE(measured.plan.ranks == plan.ranks)
        << plan.name << " " << plan.numRanks() << " " << plan.numMicroBatches;
    ++measuredRuns;
  }
  EXPECT_GT(measuredRuns, 60);
}

}  // namespace
}  // namespace pipetrace
