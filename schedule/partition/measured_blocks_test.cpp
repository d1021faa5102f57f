// Times are shared by hand: the stages of these runs are sums of known blocks.
#include "schedule/partition/measured_blocks.h"

#include <gmock/gmock.h>

#include <numeric>

#include "trace/error.h"

namespace pipetrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// Forwards of 1, 2, 3, 4 and 6 ns, backwards of twice as much.
BlockTable fiveBlocks() {
  BlockTable table;
  for (const Nanoseconds forward : {1, 2, 3, 4, 6}) {
    table.blocks.push_back({.forward = forward,
                            .backward = 2 * forward,
                            .backwardInput = forward,
                            .backwardWeight = forward,
                            .message = 10 * forward});
  }
  return table;
}

template <typename Value>
std::vector<Value> each(const std::vector<StageCosts>& stages, Value StageCosts::*field) {
  std::vector<Value> values;
  for (const StageCosts& stage : stages) values.push_back(stage.*field);
  return values;
}

TEST(MeasuredBlocks, TheRunsOwnPartitionTakesWhatWasMeasuredToTheNanosecond) {
  const std::vector<StageCosts> run = {{.forward = 1'000'003,
                                        .backward = 1'777'777,
                                        .backwardInput = 13,
                                        .backwardWeight = 1,
                                        .recompute = 501},
                                       {.forward = 700'001, .backward = 900'007}};
  for (const BlockPartition& own :
       {BlockPartition{{3, 2}, {}}, BlockPartition{{3, 2}, {1, 0}}, BlockPartition{{1, 4}, {}}}) {
    const std::vector<StageCosts> same = MeasuredBlocks(fiveBlocks(), own, run).stages(own);
    EXPECT_THAT(each(same, &StageCosts::forward), ElementsAre(1'000'003, 700'001));
    EXPECT_THAT(each(same, &StageCosts::backward), ElementsAre(1'777'777, 900'007));
    EXPECT_THAT(each(same, &StageCosts::backwardInput), ElementsAre(13, 0));
    EXPECT_THAT(each(same, &StageCosts::backwardWeight), ElementsAre(1, 0));
    EXPECT_THAT(each(same, &StageCosts::recompute), ElementsAre(501, 0));
    EXPECT_EQ(same[0].activation + same[1].activation, 2);
  }
}

TEST(MeasuredBlocks, BlocksThatMoveTakeTheirShareOfTheirStageAlong) {
  // The first stage is twice as slow as the table says, the second one three times.
  const MeasuredBlocks blocks(fiveBlocks(), {{3, 2}, {}},
                              {{.forward = 12, .backward = 24}, {.forward = 30, .backward = 60}});
  const std::vector<StageCosts> moved = blocks.stages({{4, 1}, {}});
  EXPECT_THAT(each(moved, &StageCosts::forward), ElementsAre(12 + 12, 18));
  EXPECT_THAT(each(moved, &StageCosts::backward), ElementsAre(24 + 24, 36));
  EXPECT_THAT(each(moved, &StageCosts::message), ElementsAre(40, 60)) << "of the last block";
  EXPECT_THAT(each(blocks.stages({{1, 1, 3}, {}}), &StageCosts::forward), ElementsAre(2, 4, 36));
  EXPECT_EQ(blocks.table().blocks[3].backward, 24);
}

TEST(MeasuredBlocks, AsManyBlocksRunAgainAsInTheRunUnlessThePartitionSaysWhich) {
  // Blocks 1 and 2 ran again, and took 1.5 times their forwards of 2 * (2 + 3).
  const MeasuredBlocks blocks(
      fiveBlocks(), {{3, 2}, {2, 0}},
      {{.forward = 12, .backward = 24, .recompute = 15}, {.forward = 20, .backward = 40}});
  const auto recomputes = [&](const BlockPartition& partition) {
    return each(blocks.stages(partition), &StageCosts::recompute);
  };
  EXPECT_THAT(recomputes({{3, 2}, {}}), ElementsAre(15, 0));
  EXPECT_THAT(recomputes({{3, 2}, {1, 0}}), ElementsAre(9, 0));
  EXPECT_THAT(recomputes({{3, 2}, {0, 1}}), ElementsAre(0, 18)) << "1.5 times its forward of 12";
  EXPECT_THAT(recomputes({{2, 3}, {}}), ElementsAre(6, 18)) << "one of each, the last ones";
}

TEST(MeasuredBlocks, ActivationsAreInProportionToTheTableAndAsManyInTheMean) {
  BlockTable table = fiveBlocks();
  for (BlockCosts& block : table.blocks) block.activation = 100;
  table.blocks[0].activation = 300;
  for (std::size_t block = 0; block < 4; ++block) table.blocks[block].shared = 20;
  const std::vector<StageCosts> run(2, {.forward = 1, .activation = 1000});
  // Bytes of the run's stages: 300 + 200 - 40 and 200 - 20, which are 320 in the mean.
  const MeasuredBlocks blocks(table, {{3, 2}, {}}, run);
  EXPECT_THAT(each(blocks.stages({{3, 2}, {}}), &StageCosts::activation), ElementsAre(1438, 563));
  EXPECT_THAT(each(blocks.stages({{1, 4}, {}}), &StageCosts::activation),
              ElementsAre(938, 1063));  // 300 and 400 - 60 bytes
  const StageCosts again = blocks.stages({{3, 2}, {0, 2}}).back();
  // All but the input of block 3, which is the message of block 2.
  EXPECT_EQ(again.recomputed, 469) << "150 of the 320 bytes that 1000 are";
  // Without memory in the table all blocks hold equally much.
  EXPECT_THAT(each(MeasuredBlocks(fiveBlocks(), {{3, 2}, {}}, run).stages({{1, 4}, {}}),
                   &StageCosts::activation),
              ElementsAre(400, 1600));
}

TEST(MeasuredBlocks, TablesAndPartitionsThatDoNotFitAreRefused) {
  const std::vector<StageCosts> run = {{.forward = 12, .backward = 24},
                                       {.forward = 30, .backward = 60}};
  const auto made = [&](const BlockPartition& of, BlockTable table = fiveBlocks()) {
    return [&run, of, table] { MeasuredBlocks(table, of, run); };
  };
  EXPECT_THAT(made({{3, 1}, {}}), ThrowsMessage<Error>(HasSubstr("adds up to 4 blocks, but the "
                                                                 "model has 5")));
  EXPECT_THAT(made({{3, 1, 1}, {}}),
              ThrowsMessage<Error>(HasSubstr("is for 3 stages, but the plan has 2")));
  EXPECT_THAT(made({{5, 0}, {}}), ThrowsMessage<Error>(HasSubstr("gives stage 1 no block")));
  EXPECT_THAT(made({{3, 2}, {4, 0}}), ThrowsMessage<Error>(HasSubstr("run again than it has")));
  BlockTable silent = fiveBlocks();
  silent.blocks[3].backward = silent.blocks[4].backward = 0;
  EXPECT_THAT(made({{3, 2}, {}}, silent),
              ThrowsMessage<Error>(HasSubstr("the blocks of stage 1 have no backward_ms")));
}

TEST(CutBlocks, EachStageIsCutWhereItIsOrJoinsOthers) {
  EXPECT_THAT(cutBlocks({{3, 2}, {}}, 4).blocks, ElementsAre(2, 1, 1, 1));
  EXPECT_THAT(cutBlocks({{3, 2, 4, 1}, {}}, 2).blocks, ElementsAre(5, 5));
  EXPECT_THAT(cutBlocks({{4, 2, 2}, {}}, 2).blocks, ElementsAre(4, 4));
  EXPECT_THAT(cutBlocks({{3, 2}, {1, 0}}, 2).recomputed, ElementsAre(1, 0)) << "the same";
  EXPECT_THAT(
      [] {
        cutBlocks({{3, 1}, {}}, 4);
      },
      ThrowsMessage<Error>(HasSubstr("stage 1 has 1 block, which is too few for 2 stages")));
}

}  // namespace
}  // namespace pipetrace
