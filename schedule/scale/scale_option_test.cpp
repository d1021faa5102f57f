#include "schedule/scale/scale_option.h"

#include <gmock/gmock.h>

#include "schedule/build_schedule.h"
#include "schedule/simulate/simulate.h"
#include "schedule/with_recompute.h"
#include "schedule/with_replicas.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using testing::HasSubstr;

Costs tenAndTwenty(int stages = 4) {
  Costs costs = Costs::equal(stages, {.forward = 10,
                                      .backward = 20,
                                      .backwardInput = 12,
                                      .backwardWeight = 8,
                                      .recompute = 10,
                                      .reduction = 6});
  costs.transfer = 4;
  costs.lr = 2;
  costs.optimizer = 8;
  return costs;
}

Costs scaled(const std::vector<std::string>& texts, const Plan& plan, Costs costs) {
  std::vector<ScaleOption> scales;
  for (const std::string& text : texts) scales.push_back(parseScale(text));
  applyScales(scales, plan, costs);
  return costs;
}

Costs scaled(const std::vector<std::string>& texts) {
  return scaled(texts, buildSchedule("1F1B", 4, 8), tenAndTwenty());
}

std::string refusalOfScale(const std::string& text, ZeroScale zero = ZeroScale::kRefused) {
  try {
    Costs costs = tenAndTwenty();
    const ScaleOption scale = parseScale(text, zero);
    applyScales({&scale, 1}, buildSchedule("1F1B", 4, 8), costs);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(ScaleOption, AStageHasAllTimesOfItsComputeJobsMultiplied) {
  const Costs costs = scaled({"stage=2:1.3", "stage=2:2"});
  EXPECT_EQ(costs.stages[2].forward, 26);
  EXPECT_EQ(costs.stages[2].backward, 52);
  EXPECT_EQ(costs.stages[2].recompute, 26);
  EXPECT_EQ(costs.stages[2].forwardBackward, -1) << "as long as its parts, which are scaled";
  EXPECT_EQ(costs.stages[2].reduction, 6);
  EXPECT_EQ(costs.stages[1].forward, 10);
}

TEST(ScaleOption, AKindIsMultipliedOnAllStagesAndABackwardWithItsHalves) {
  const Costs costs = scaled({"kind=backward:1.5", "kind=optimizer:0.5", "kind=collective:2"});
  for (const StageCosts& stage : costs.stages) {
    EXPECT_EQ(stage.forward, 10);
    EXPECT_EQ(stage.backward, 30);
    EXPECT_EQ(stage.backwardInput, 18);
    EXPECT_EQ(stage.backwardWeight, 12);
    EXPECT_EQ(stage.reduction, 12);
  }
  EXPECT_EQ(costs.optimizer, 4);
  EXPECT_EQ(costs.lr, 2);
  EXPECT_EQ(scaled({"kind=transfer:0.25"}).transfer, 1);
}

TEST(ScaleOption, ALinkIsMultipliedFromTheTimeThatItHas) {
  Costs given = tenAndTwenty();
  given.faults.links.push_back({1, 2, 100});
  const Costs costs = scaled({"link=2-1:0.5", "link=0-1:3"}, buildSchedule("1F1B", 4, 8), given);
  EXPECT_EQ(costs.transferBetween(1, 2), 50);
  EXPECT_EQ(costs.transferBetween(1, 0), 12);
  EXPECT_EQ(costs.transferBetween(2, 3), 4);
}

TEST(ScaleOption, ARankWithStagesOfItsOwnIsTheSameAsTheseStages) {
  const Plan plan = buildSchedule("Interleaved1F1B", 4, 8, 2);
  const Costs byRank = scaled({"rank=1:1.3"}, plan, tenAndTwenty(8));
  const Costs byStages = scaled({"stage=1:1.3", "stage=5:1.3"}, plan, tenAndTwenty(8));
  for (std::size_t stage = 0; stage < 8; ++stage) {
    EXPECT_EQ(byRank.stages[stage].forward, byStages.stages[stage].forward);
    EXPECT_EQ(byRank.stages[stage].backward, byStages.stages[stage].backward);
  }
  EXPECT_TRUE(byRank.faults.empty());
}

TEST(ScaleOption, ARankWithReplicasBecomesSlowerAlone) {
  const Plan plan = withReplicas(buildSchedule("1F1B", 2, 4), 2);
  const Simulation simulation =
      simulate(CheckedPlan(plan), scaled({"rank=3:2"}, plan, tenAndTwenty(2)));
  const auto busyOf = [&](std::size_t rank) { return simulation.ranks[rank].busy; };
  EXPECT_EQ(busyOf(1), 4 * 30);
  EXPECT_EQ(busyOf(3), 2 * 4 * 30);
}

TEST(ScaleOption, FactorsAreReadDigitByDigitAndRoundToTheNanosecond) {
  const ScaleOption scale = parseScale("stage=0:0.333333333");
  EXPECT_EQ(scale.billionths, 333'333'333);
  EXPECT_EQ(scale.scaled(3'000'000'000), 999'999'999);
}

TEST(ScaleOption, OnlyAKindMayTakeNoTimeAndOnlyWhereThatIsAllowed) {
  EXPECT_EQ(refusalOfScale("stage=2:0"), "--scale stage=2:0: the factor is above 0");
  EXPECT_EQ(refusalOfScale("kind=transfer:0"), "--scale kind=transfer:0: the factor is above 0");
  EXPECT_EQ(refusalOfScale("stage=2:0", ZeroScale::kOfKinds),
            "--scale stage=2:0: the factor is above 0");
  const ScaleOption none = parseScale("kind=transfer:0", ZeroScale::kOfKinds);
  EXPECT_EQ(none.scaled(7), 0);
  EXPECT_TRUE(none.covers(JobKind::kRecvBackward));
  EXPECT_FALSE(none.covers(JobKind::kForward));
}

TEST(ScaleOption, TextsThatAreNoFactorAreErrorsThatSayWhatIs) {
  for (const char* const text : {"2:1.3", "stage=2", "stage=x:2", "stage=-1:2", "stage=2:-1",
                                 "stage=2:1e3", "link=1:2", "link=1-:2", "size=1:2", "stage:1=2"}) {
    EXPECT_THAT(refusalOfScale(text), HasSubstr(std::string("--scale ") + text +
                                                ": write it as stage=2:1.3, rank=5:0.9"));
  }
  EXPECT_THAT(refusalOfScale("kind=fast:2"), HasSubstr("the kinds are forward, backward, "));
  EXPECT_EQ(refusalOfScale("stage=4:2"), "--scale stage=4:2: the plan has stages 0 to 3");
  EXPECT_EQ(refusalOfScale("rank=4:2"), "--scale rank=4:2: the plan has ranks 0 to 3");
  EXPECT_EQ(refusalOfScale("link=0-2:2"),
            "--scale link=0-2:2: no message moves between ranks 0 and 2");
  EXPECT_EQ(refusalOfScale("kind=data:2"), "--scale kind=data:2: a plan has no time for such jobs");
}

}  // namespace
}  // namespace pipetrace
