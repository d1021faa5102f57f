#include "schedule/with_replicas.h"

#include <gmock/gmock.h>

#include "schedule/build_schedule.h"
#include "schedule/check/check.h"
#include "schedule/file/schedule_file.h"
#include "schedule/fingerprint.h"
#include "schedule/simulate/simulate.h"
#include "schedule/testing/plan_texts.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::ThrowsMessage;

TEST(WithReplicas, EachHasItsOwnRanksAndMicroBatches) {
  const Plan plan = withReplicas(buildSchedule("1F1B", 2, 2), 2);
  EXPECT_EQ(toCsv(plan),
            "# name = 1F1B, ranks_of_stage = 0/1, replicas = 2\n"
            "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n"
            "0F2,0F3,0B2,0B3\n1F2,1B2,1F3,1B3\n");
  EXPECT_EQ(plan.ranksOfReplica(), 2);
  EXPECT_EQ(plan.microBatchesOfReplica(), 2);
  EXPECT_THAT(plan.ranksOf(1), ElementsAre(1, 3));
  EXPECT_EQ(plan.rankOf(1, 3), 3);
  EXPECT_THAT(plan.stagesOfRank(3), ElementsAre(1));
  EXPECT_EQ(plan.replicaOf(2), 1);
  EXPECT_EQ(plan.numberInReplica(3), 1);
}

TEST(WithReplicas, EverySchedulesPlanIsSoundAndReadsBackAsItIs) {
  for (const std::string& name : scheduleNames()) {
    if (scheduleInfo(name).isAsynchronous) continue;
    const Plan plan = withReplicas(buildSchedule(name, 4, 6), 3);
    EXPECT_THAT(check(plan), IsEmpty()) << name;
    const Plan again = readPlan(toCsv(plan), "again");
    EXPECT_EQ(fingerprint(again), fingerprint(plan)) << name;
    EXPECT_NE(fingerprint(plan), fingerprint(buildSchedule(name, 4, 6)));
  }
}

TEST(WithReplicas, RunAtTheTimesOfOneAndLogTheirOwnNumbers) {
  for (const char* const name : {"ZBV", "DualPipe"}) {
    const CheckedPlan one = buildSchedule(name, 2, 4);
    const CheckedPlan two(withReplicas(*one, 2));
    Costs costs = Costs::equal(one->numStages, {10, 20});
    costs.transfer = 3;
    const Simulation of = simulate(one, costs);
    const Simulation both = simulate(two, costs);
    EXPECT_EQ(both.length, of.length);
    for (int rank = 0; rank < 4; ++rank) {
      EXPECT_EQ(both.timeline.ranks.at(rank).dataParallelIndex, rank / 2);
      EXPECT_EQ(both.timeline.ranks.at(rank).numMicroBatches, 4);
      const auto& events = both.timeline.findTrack(rank, kComputeLane)->events;
      const auto& same = of.timeline.findTrack(rank % 2, kComputeLane)->events;
      ASSERT_EQ(events.size(), same.size());
      for (std::size_t i = 0; i < events.size(); ++i) {
        EXPECT_EQ(events[i].begin, same[i].begin);
        EXPECT_EQ(events[i].microBatch, same[i].microBatch);
        EXPECT_EQ(events[i].stage, same[i].stage);
      }
    }
  }
}

TEST(WithReplicas, ImpossibleNumbersAreRefused) {
  const Plan plan = buildSchedule("1F1B", 2, 2);
  EXPECT_THAT([&] { withReplicas(plan, 0); }, ThrowsMessage<Error>(HasSubstr("at least one")));
  EXPECT_THAT([&] { withReplicas(withReplicas(plan, 2), 2); },
              ThrowsMessage<Error>(HasSubstr("has 2 replicas already")));
  EXPECT_THAT([&] { withReplicas(plan, 10'000); },
              ThrowsMessage<Error>(HasSubstr("is a number too large?")));
}

TEST(WithReplicas, ThatDoNotFillThePlanAreAProblem) {
  Plan plan = withReplicas(buildSchedule("1F1B", 2, 2), 2);
  plan.replicas = 3;
  EXPECT_THAT(toText(check(plan).front()),
              HasSubstr("3 replicas, which do not have equal parts of its 4 ranks"));
  EXPECT_THAT(test::problemsOf("0F0,0B0\n0F1,0B1\n# ranks_of_stage = 0, replicas = 2\n"),
              IsEmpty());
}

TEST(WithReplicas, AHeaderWithAnImpossibleNumberIsRefused) {
  for (const char* const number : {"0", "-1", "x", ""}) {
    const std::string text = std::string("0F0,0B0\n0F1,0B1\n# replicas = ") + number + "\n";
    EXPECT_THAT(test::errorOf(text), HasSubstr("that is no value of replicas")) << number;
  }
  EXPECT_THAT(test::errorOf("0F0,0B0\n0F1,0B1\n# ranks_of_stage = 0, replicas = 3\n"),
              HasSubstr("replicas = 3, which cannot have equal parts of the plan's 2 ranks and 2 "
                        "micro-batches"));
}

TEST(WithReplicas, AnActionOfAnotherReplicaIsOnTheWrongRank) {
  EXPECT_THAT(
      test::problemsOf("0F1,0B0\n0F0,0B1\n# ranks_of_stage = 0, replicas = 2\n").front(),
      HasSubstr("rank 0, cell 0: 0F1 is on the wrong rank: stage 0 of micro-batch 1 belongs "
                "to rank 1"));
}

TEST(Placement, TextsNameTheRanksOfEachStage) {
  const std::vector<std::vector<int>> ranks{{0, 1}, {2}, {10}};
  EXPECT_EQ(toText(ranks), "0,1/2/10");
  EXPECT_EQ(ranksOfStageFrom("0,1/2/10"), ranks);
  for (const char* const text : {"", "/", "0/", ",1", "0 1", "a", "-1", "0,,1", "99999999999"}) {
    EXPECT_THAT(ranksOfStageFrom(text), IsEmpty()) << text;
  }
}

TEST(Placement, RanksTakeTurnsOrHaveRunsOfMicroBatches) {
  Placement places{.ranksOfStage = {{0, 1, 2}, {3}}, .run = 1};
  const auto rankOf = [&](int microBatch) { return places.rankOf(0, microBatch); };
  EXPECT_THAT((std::vector{rankOf(0), rankOf(1), rankOf(2), rankOf(3)}), ElementsAre(0, 1, 2, 0));
  places.run = 2;
  EXPECT_THAT((std::vector{rankOf(1), rankOf(2), rankOf(5), rankOf(9)}), ElementsAre(0, 1, 2, 2));
  EXPECT_EQ(places.rankOf(1, 9), 3);
}

}  // namespace
}  // namespace pipetrace
