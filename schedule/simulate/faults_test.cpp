// simulate() with faults of single jobs and links.
#include <gmock/gmock.h>

#include "schedule/build_schedule.h"
#include "schedule/simulate/simulate.h"
#include "schedule/testing/simulated_events.h"

namespace pipetrace {
namespace {

using test::eventsOf;
using testing::ElementsAre;
using testing::Pair;

/// Each forward takes 10, each backward 20, each message 1.
Costs costsOf(int stages) {
  Costs costs = Costs::equal(stages, {10, 20});
  costs.transfer = 1;
  return costs;
}

TEST(SimulateFaults, LinkTakesItsOwnTimeInBothDirectionsAndOthersTheirs) {
  Costs costs = costsOf(3);
  costs.faults.links = {{.rank = 2, .peer = 1, .transfer = 4}};
  const Simulation result = simulate(buildSchedule("FThenB", 3, 1), costs);
  EXPECT_EQ(result.length, 10 + 1 + 10 + 4 + 10 + 20 + 4 + 20 + 1 + 20);
}

TEST(SimulateFaults, JobIsLongerInItsStepOnly) {
  Costs costs = costsOf(1);
  costs.faults.jobs = {{.action = {JobKind::kForward, 0, 1}, .step = 1, .longer = 5}};
  const Simulation result = simulate(buildSchedule("FThenB", 1, 2), costs, {.steps = 3});
  EXPECT_EQ(result.length, 3 * 60 + 5);
  for (const Event& job : eventsOf(result, 0)) {
    const bool isIt = job.kind == JobKind::kForward && job.microBatch == 1 && job.step == 1;
    EXPECT_EQ(job.duration(), (job.kind == JobKind::kForward ? 10 : 20) + (isIt ? 5 : 0));
  }
}

TEST(SimulateFaults, JobThatIsLaunchedLateLeavesItsRankIdleInEveryStep) {
  Costs costs = costsOf(2);
  costs.faults.jobs = {{.action = {JobKind::kForward, 1, 0}, .late = 3}};
  const Simulation result =
      simulate(buildSchedule("FThenB", 2, 1), costs, {.steps = 2, .stepsStartTogether = true});
  EXPECT_EQ(result.length, 2 * (10 + 1 + 3 + 10 + 20 + 1 + 20));
  EXPECT_EQ(eventsOf(result, 1)[0].begin, 10 + 1 + 3);
  EXPECT_EQ(eventsOf(result, 1)[0].duration(), 10);
}

TEST(SimulateFaults, CriticalPathHasALateLaunchBesideItsJob) {
  Costs costs = costsOf(2);
  costs.faults.jobs = {{.action = {JobKind::kForward, 1, 0}, .late = 3}};
  const CriticalPath path = simulate(buildSchedule("FThenB", 2, 1), costs).criticalPath;
  std::vector<std::string> links;
  for (const CriticalPath::Link& link : path.links) {
    links.push_back(std::string(link.name()) + " " + link.text + " " + std::to_string(link.begin) +
                    "-" + std::to_string(link.end) + " " + std::string(toText(link.reason)));
  }
  EXPECT_THAT(links,
              ElementsAre("forward 0F0 0-10 start of the step",
                          "send_forward 0SEND_F0 10-11 made then", "launch 1F0 11-14 message",
                          "forward 1F0 14-24 launched late", "backward 1B0 24-44 rank was busy",
                          "send_backward 1SEND_B0 44-45 made then", "backward 0B0 45-65 message"));
  EXPECT_THAT(path.totals(),
              ElementsAre(Pair("forward", 20), Pair("backward", 40), Pair("send_forward", 1),
                          Pair("send_backward", 1), Pair("launch", 3)));
}

TEST(SimulateFaults, CriticalPathBeginsWithTheLateLaunchOfTheFirstJob) {
  Costs costs = costsOf(1);
  costs.faults.jobs = {{.action = {JobKind::kForward, 0, 0}, .late = 3}};
  const Simulation result = simulate(buildSchedule("FThenB", 1, 1), costs);
  const auto& links = result.criticalPath.links;
  ASSERT_EQ(links.size(), 3U);
  EXPECT_TRUE(links[0].isLaunch);
  EXPECT_EQ(links[0].reason, WaitReason::kStepBegin);
  EXPECT_EQ(links[1].begin, 3);
  EXPECT_EQ(result.criticalPath.length(), result.length);
}

TEST(SimulateFaults, SeveralFaultsOfAJobAddUp) {
  Costs costs = costsOf(1);
  const Action action{JobKind::kBackward, 0, 0};
  costs.faults.jobs = {{.action = action, .longer = 5}, {.action = action, .longer = 2, .late = 1}};
  EXPECT_EQ(simulate(buildSchedule("FThenB", 1, 1), costs).length, 10 + 1 + 20 + 7);
}

}  // namespace
}  // namespace pipetrace
