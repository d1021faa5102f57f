// All ranks agree before the optimizer's step: the action, its check and its times, by hand.
#include <gmock/gmock.h>

#include "schedule/add_transfers.h"
#include "schedule/build_schedule.h"
#include "schedule/check/check.h"
#include "schedule/file/schedule_file.h"
#include "schedule/file/torch_csv.h"
#include "schedule/fingerprint.h"
#include "schedule/forward_part.h"
#include "schedule/simulate/dry_run.h"
#include "schedule/simulate/simulate.h"
#include "schedule/with_reductions.h"
#include "schedule/with_replicas.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

/// Forwards of 1, backwards of 2.
Costs costsOf(int stages, Nanoseconds scalarAllReduce) {
  Costs costs =
      Costs::equal(stages, {.forward = 1, .backward = 2, .backwardInput = 1, .backwardWeight = 1});
  costs.scalarAllReduce = scalarAllReduce;
  return costs;
}

std::string refusalOf(const Plan& plan) {
  try {
    withScalarAllReduce(plan);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::vector<std::string> problemsOf(const std::string& rows) {
  std::vector<std::string> texts;
  for (const Problem& problem : check(readPlan(rows, "rows"))) {
    texts.push_back(toText(problem));
  }
  return texts;
}

TEST(ScalarAllReduce, StandsAtTheEndOfEachRanksRow) {
  const Plan plan =
      withScalarAllReduce(withReductions(withReplicas(buildSchedule("1F1B", 2, 2), 2)));
  EXPECT_EQ(toCsv(plan),
            "# name = 1F1B, ranks_of_stage = 0/1, replicas = 2\n"
            "0F0,0F1,0B0,0B1,0REDUCE_GRAD,AGREE\n1F0,1B0,1F1,1B1,1REDUCE_GRAD,AGREE\n"
            "0F2,0F3,0B2,0B3,0REDUCE_GRAD,AGREE\n1F2,1B2,1F3,1B3,1REDUCE_GRAD,AGREE\n");
  EXPECT_EQ(withScalarAllReduce(plan).ranks, plan.ranks) << "once";
  EXPECT_EQ(readPlan(toCsv(plan), "again").ranks, plan.ranks);
  EXPECT_EQ(asRanksRun(plan).ranks, plan.ranks);
  EXPECT_EQ(fingerprint(plan), fingerprint(withReplicas(buildSchedule("1F1B", 2, 2), 2)));
  // Also after reductions and sends that are added later.
  const Plan late =
      withReductions(withReplicas(withScalarAllReduce(buildSchedule("1F1B", 2, 2)), 2));
  EXPECT_EQ(late.ranks, plan.ranks);
  const Plan full = addTransfers(CheckedPlan(plan), {.ahead = 1});
  EXPECT_THAT(check(full), IsEmpty());
  for (const std::vector<Action>& row : full.ranks) EXPECT_TRUE(isScalarAllReduce(row.back().kind));
}

TEST(ScalarAllReduce, IsNotInTorchsFilesAndNotInForwardParts) {
  const Plan plan = withScalarAllReduce(buildSchedule("1F1B", 2, 2));
  const Plan full = addTransfers(CheckedPlan(plan), {.ahead = 0});
  EXPECT_THAT(toTorchCsv(CheckedPlan(full)), Not(HasSubstr("AGREE")));
  EXPECT_THAT(toCsv(forwardPart(plan)), Not(HasSubstr("AGREE")));
}

TEST(ScalarAllReduce, IsRefusedWhereRanksHaveNoTimeForIt) {
  EXPECT_THAT(refusalOf(buildSchedule("PipeDream", 2, 4)), HasSubstr("without a flush"));
  EXPECT_THAT(refusalOf(buildSchedule("ForwardOnly", 2, 4)), HasSubstr("no backward"));
}

TEST(ScalarAllReduce, IsTheLastActionOfAllRanksOrOfNone) {
  EXPECT_THAT(problemsOf("0F0,0B0,AGREE\n1F0,1B0,AGREE\n"), IsEmpty());
  EXPECT_THAT(problemsOf("0F0,0B0,AGREE\n1F0,1B0\n"),
              ElementsAre("rank 1, cell 1: AGREE is missing here: others wait for this rank"));
  EXPECT_THAT(problemsOf("0F0,AGREE,0B0,AGREE\n1F0,1B0,AGREE\n"),
              ElementsAre("rank 0, cell 1: AGREE comes before the rank's last action"));
  EXPECT_THAT(problemsOf("# update_every = 1\n0F0,0B0,AGREE\n1F0,1B0,AGREE\n"),
              ElementsAre("AGREE has no place in a plan without a flush"));
  EXPECT_THAT(problemsOf("0F0,AGREE\n1F0,AGREE\n"),
              ElementsAre("AGREE has no place in a plan without backward passes"));
}

// 1F1B of two ranks and two micro-batches: rank 1 ends its backwards at 7, rank 0 at 9.
TEST(ScalarAllReduce, BeginsWhenTheLastRankHasComeAndHoldsUpAll) {
  Costs costs = costsOf(2, 4);
  costs.optimizer = 1;
  const CheckedPlan plan(withScalarAllReduce(buildSchedule("1F1B", 2, 2)));
  const Simulation simulation = simulate(plan, costs);
  EXPECT_EQ(simulation.length, 9 + 4 + 1);
  EXPECT_EQ(dryRun(plan, costs).length, 14);
  EXPECT_EQ(simulation.criticalPath.length(), 14);
  for (const auto& [rank, begin] : {std::pair{0, 9}, {1, 7}}) {
    const auto& events = simulation.timeline.findTrack(rank, kReductionLane)->events;
    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(events[0].kind, JobKind::kAllReduce);
    EXPECT_EQ(events[0].begin, begin);
    EXPECT_EQ(events[0].end, 13);
    EXPECT_EQ(events[0].stage, kNotGiven);
    const Argument& members = simulation.timeline.argumentsOf(events[0])[0];
    EXPECT_EQ(simulation.timeline.strings[members.text], "0 1");
    const Event& optimizer = simulation.timeline.findTrack(rank, kComputeLane)->events.back();
    EXPECT_EQ(optimizer.kind, JobKind::kOptimizer);
    EXPECT_EQ(optimizer.begin, 13);
  }
  // Two steps: the second begins together.
  EXPECT_EQ(simulate(plan, costs, {.steps = 2}).length, 28);
}

TEST(ScalarAllReduce, ComesAfterTheReductionsOfAllStages) {
  Costs costs = costsOf(2, 4);
  costs.stages[1].reduction = 5;  // 7 to 12
  const CheckedPlan plan(
      withScalarAllReduce(withReductions(withReplicas(buildSchedule("1F1B", 2, 2), 2))));
  const Simulation simulation = simulate(plan, costs);
  EXPECT_EQ(simulation.length, 12 + 4);
  const CriticalPath& path = simulation.criticalPath;
  EXPECT_EQ(path.length(), 16);
  ASSERT_GE(path.links.size(), 2U);
  EXPECT_EQ(path.links.back().text, "AGREE");
  EXPECT_THAT(path.links[path.links.size() - 2].text, EndsWith("REDUCE_GRAD"));
}

TEST(ScalarAllReduce, WithoutATimeAndWithoutTheActionChangesNothing) {
  const CheckedPlan plan(buildSchedule("1F1B", 2, 2));
  EXPECT_EQ(simulate(plan, costsOf(2, 4)).length, 9);
  const CheckedPlan agreed(withScalarAllReduce(*plan));
  EXPECT_EQ(simulate(agreed, costsOf(2, 0)).length, 9);
  EXPECT_EQ(simulate(agreed, costsOf(2, 0)).timeline.findTrack(0, kReductionLane), nullptr);
}

}  // namespace
}  // namespace pipetrace
