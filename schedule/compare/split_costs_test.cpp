#include "schedule/compare/split_costs.h"

#include <gmock/gmock.h>

namespace pipetrace {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

Costs twoShares() {
  Costs costs{.transfer = 5, .lr = 6, .optimizer = 7};
  costs.stages.push_back({.forward = 10,
                          .backward = 21,
                          .backwardInput = 11,
                          .backwardWeight = 10,
                          .recompute = 4,
                          .activation = 100,
                          .freedByInput = 50,
                          .working = 30,
                          .weights = 200,
                          .message = 9,
                          .reduction = 8,
                          .blocks = 7});
  costs.stages.push_back(costs.stages.front());
  costs.stages.back().forward = 20;
  return costs;
}

template <typename Value>
std::vector<Value> each(const Costs& costs, Value StageCosts::*field) {
  std::vector<Value> values;
  for (const StageCosts& stage : costs.stages) values.push_back(stage.*field);
  return values;
}

TEST(SplitCosts, GiveEachChunkAPartOfItsRanksShareThatAddUpToIt) {
  const Costs split = splitOverChunks(twoShares(), 3, true);
  EXPECT_THAT(each(split, &StageCosts::forward), ElementsAre(3, 3, 4, 6, 7, 7));
  EXPECT_THAT(each(split, &StageCosts::backwardInput), ElementsAre(3, 4, 4, 3, 4, 4));
  EXPECT_THAT(each(split, &StageCosts::backwardWeight), ElementsAre(3, 3, 4, 3, 3, 4));
  EXPECT_THAT(each(split, &StageCosts::backward), ElementsAre(6, 7, 8, 6, 7, 8))
      << "the sum of the halves, as in the share";
  EXPECT_THAT(each(split, &StageCosts::recompute), ElementsAre(1, 1, 2, 1, 1, 2));
  EXPECT_THAT(each(split, &StageCosts::reduction), ElementsAre(2, 3, 3, 2, 3, 3));
  EXPECT_THAT(each(split, &StageCosts::blocks), ElementsAre(2, 2, 3, 2, 2, 3));
  EXPECT_EQ(split.transfer, 5);
  EXPECT_EQ(split.lr, 6);
  EXPECT_EQ(split.optimizer, 7);
}

TEST(SplitCosts, RoundMemoryDownAndKeepWhatAJobNeedsAsItIs) {
  const StageCosts chunk = splitOverChunks(twoShares(), 3, true).stages.back();
  EXPECT_EQ(chunk.activation, 33);
  EXPECT_EQ(chunk.freedByInput, 16);
  EXPECT_EQ(chunk.weights, 66);
  EXPECT_EQ(chunk.working, 30);
  EXPECT_EQ(chunk.message, 9);
  EXPECT_EQ(splitOverChunks(twoShares(), 3, false).stages.back().activation, 1) << "counted";
}

TEST(SplitCosts, JoinAgainToTheSharesThatWereSplit) {
  const Costs shares = twoShares();
  EXPECT_EQ(splitOverChunks(shares, 1, true).stages.front().weights, 200);
  const Costs joined = joinChunks(splitOverChunks(shares, 4, true), 4);
  ASSERT_THAT(joined.stages, SizeIs(2));
  EXPECT_THAT(each(joined, &StageCosts::forward), ElementsAre(10, 20));
  EXPECT_THAT(each(joined, &StageCosts::backward), ElementsAre(21, 21));
  EXPECT_THAT(each(joined, &StageCosts::forwardBackward), ElementsAre(-1, -1));
  EXPECT_THAT(each(joined, &StageCosts::weights), ElementsAre(200, 200));
  EXPECT_THAT(each(joined, &StageCosts::working), ElementsAre(30, 30));
  EXPECT_EQ(joined.optimizer, 7);
}

TEST(CutStages, AddUpToTheNanosecondHoweverTheyAreCut) {
  const std::vector<StageCosts> stages = {{.forward = 10, .backward = 21},
                                          {.forward = 7, .backward = 15},
                                          {.forward = 3, .backward = 4}};
  const auto forwardsOf = [](const std::vector<StageCosts>& cut) {
    std::vector<Nanoseconds> times;
    for (const StageCosts& stage : cut) times.push_back(stage.forward);
    return times;
  };
  EXPECT_THAT(forwardsOf(cutStages(stages, 6)), ElementsAre(5, 5, 3, 4, 1, 2));
  EXPECT_THAT(forwardsOf(cutStages(stages, 1)), ElementsAre(20));
  EXPECT_THAT(forwardsOf(cutStages(stages, 2)), ElementsAre(13, 7));
  EXPECT_THAT(forwardsOf(cutStages(cutStages(stages, 12), 3)), ElementsAre(10, 7, 3));
  EXPECT_EQ(splitOverChunks({.stages = stages}, 4, true).stages[3].forward,
            cutStages(stages, 12)[3].forward);
}

}  // namespace
}  // namespace pipetrace
