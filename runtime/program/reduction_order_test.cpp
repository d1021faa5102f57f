#include "runtime/program/reduction_order.h"

#include <gmock/gmock.h>

#include <string>

#include "runtime/testing/error_of.h"
#include "schedule/build_schedule.h"
#include "schedule/file/schedule_file.h"
#include "schedule/with_reductions.h"
#include "schedule/with_replicas.h"

namespace pipetrace {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> groupsOf(const Plan& plan) {
  std::vector<std::string> groups;
  for (const auto& group : reductionOrder(plan)) {
    std::string& text = groups.emplace_back();
    for (const PlannedReduction& own : group) {
      text +=
          (text.empty() ? "" : " ") + std::to_string(own.stage) + "." + std::to_string(own.turn);
    }
  }
  return groups;
}

std::vector<std::string> exchangesOfRank(const CheckedPlan& plan, int rank) {
  std::vector<std::string> texts;
  const RankProgram program = rankProgram(plan, rank, 2);
  for (const RankProgram::Exchange& exchange : program.exchanges) {
    const RankProgram::Reduction& its =
        program.reductions[static_cast<std::size_t>(exchange.reduction)];
    const int stage = program.stageReplicas[static_cast<std::size_t>(its.stageReplicas)].stage;
    texts.push_back((exchange.round == RankProgram::Round::kParts ? "parts " : "sums ") +
                    std::to_string(stage) + "." + std::to_string(its.bucket));
  }
  return texts;
}

TEST(ReductionOrderTest, TheSumsOfAStageComeBeforeThePartsOfTheNext) {
  const CheckedPlan plan(withReplicas(buildSchedule("Interleaved1F1B", PlanSize{2, 4, 2}), 2));
  EXPECT_THAT(exchangesOfRank(plan, 2),
              ElementsAre("parts 2.0", "sums 2.0", "parts 0.0", "sums 0.0"));
}

TEST(ReductionOrderTest, BucketsOfAStageTravelTogether) {
  const CheckedPlan plan(
      withReplicas(readPlan("0F0,0B0,0REDUCE_GRAD0,0REDUCE_GRAD1,0REDUCE_GRAD2", "buckets"), 2));
  EXPECT_THAT(exchangesOfRank(plan, 1), ElementsAre("parts 0.0", "parts 0.1", "parts 0.2",
                                                    "sums 0.0", "sums 0.1", "sums 0.2"));
}

// Stages 0 and 1 on ranks 0 and 1, which come to their last backwards in other orders.
TEST(ReductionOrderTest, RanksThatDisagreeGetOneOrder) {
  const Plan plan = withReductions(
      readPlan("0F0,1F1,1B1,0B0\n0F1,1F0,1B0,0B1\n# ranks_of_stage = 0,1/0,1\n", "two"));
  const auto groups = groupsOf(plan);
  EXPECT_THAT(groups, ElementsAre("1.0", "0.0"));
  Plan other = plan;
  for (Action& action : other.ranks[1]) {
    if (action.kind == JobKind::kReduceScatter) action.stage = 1 - action.stage;
  }
  EXPECT_EQ(groupsOf(other).size(), 2U);
}

TEST(ReductionOrderTest, ARankThatLacksAReductionOfItsStageIsNamed) {
  const Plan plan = withReplicas(readPlan("0F0,0B0,0REDUCE_GRAD0,0REDUCE_GRAD1", "buckets"), 3);
  Plan lacks = plan;
  lacks.ranks[2].pop_back();
  EXPECT_THAT(testing::errorOf([&] { rankProgram(CheckedPlan(lacks), 0, 2); }),
              AllOf(HasSubstr("rank 2"), HasSubstr("stage 0"), HasSubstr("rank 0"),
                    HasSubstr("the same ones")));
}

}  // namespace
}  // namespace pipetrace
