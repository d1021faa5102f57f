// Runs are made of blocks of known times. Answers about other partitions are compared with the
// simulation of the stages that these blocks make.
#include <gmock/gmock.h>

#include <numeric>

#include "analysis/testing/run_of_timeline.h"
#include "analysis/what_if/what_if.h"
#include "schedule/build_schedule.h"
#include "schedule/simulate/simulate.h"
#include "schedule/with_recompute.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::ThrowsMessage;

/// The forwards of eight blocks. Backwards take twice as long.
constexpr Nanoseconds kForwards[] = {300'000, 700'000, 500'000, 500'000,
                                     900'000, 400'000, 100'000, 1'200'000};

/// The same in other units, as on a machine that is slower.
BlockTable tableOfBlocks() {
  BlockTable table;
  for (const Nanoseconds forward : kForwards) {
    table.blocks.push_back({.forward = 3 * forward,
                            .backward = 6 * forward,
                            .backwardInput = 4 * forward,
                            .backwardWeight = 2 * forward});
  }
  return table;
}

Costs stagesOf(const std::vector<int>& blocks) {
  Costs costs;
  std::size_t first = 0;
  for (const int count : blocks) {
    const std::size_t end = first + static_cast<std::size_t>(count);
    const Nanoseconds forward = std::accumulate(kForwards + first, kForwards + end, Nanoseconds{0});
    costs.stages.push_back({.forward = forward,
                            .backward = 2 * forward,
                            .backwardInput = forward / 3 * 4,
                            .backwardWeight = forward / 3 * 2});
    first = end;
  }
  costs.transfer = 200'000;
  costs.optimizer = 500'000;
  return costs;
}

Timeline runOfBlocks(const Plan& plan, const Costs& costs, const std::string& blocks = {}) {
  Timeline timeline = simulate(CheckedPlan(plan), costs,
                               {.steps = 5, .begin = 1'000'000, .stepsStartTogether = true})
                          .timeline;
  Diagnostics diagnostics;
  for (auto& [rank, info] : timeline.ranks) info.blocks = blocks;
  completeTimeline(timeline, diagnostics);
  return timeline;
}

Nanoseconds simulatedStep(const Plan& plan, const Costs& costs) {
  return summarize(runOfBlocks(plan, costs)).steps[2].window();
}

Plan fourRanks() { return buildSchedule("1F1B", 4, 8); }

WhatIfQuestion questionOf(const BlockPartition& partition,
                          std::optional<BlockTable> table = tableOfBlocks()) {
  WhatIfQuestion question;
  question.plan.partition = partition;
  question.blocks = GivenBlocks{.table = std::move(table), .partition = {}};
  return question;
}

TEST(WhatIfOfPartitions, TheUnchangedOneIsTheSimulatedRunToTheNanosecond) {
  Costs costs = stagesOf({2, 2, 2, 2});
  costs.stages[1].forward += 12'345;  // its blocks are slower than the table says
  costs.stages[3].backward += 54'321;
  costs.faults.links.push_back({.rank = 1, .peer = 2, .transfer = 450'001});
  const Timeline run = runOfBlocks(fourRanks(), costs, "2,2,2,2");
  BlockTable odd = tableOfBlocks();
  odd.blocks[2].forward = 1;
  odd.blocks[3].message = 77;
  for (const auto& table :
       {std::optional(tableOfBlocks()), std::optional(odd), std::optional<BlockTable>()}) {
    const WhatIfAnswer answer = whatIf(asRun(run), questionOf({{2, 2, 2, 2}, {}}, table));
    EXPECT_TRUE(answer.isByModel);
    EXPECT_EQ(answer.unchanged.step, answer.measured.step);
    EXPECT_EQ(answer.changed.step, answer.unchanged.step);
    EXPECT_THAT(answer.changedPeaks, ElementsAre(4, 3, 2, 1));
  }
}

TEST(WhatIfOfPartitions, BlocksThatMoveTakeTheirTimesWithThem) {
  const Timeline run = runOfBlocks(fourRanks(), stagesOf({2, 2, 2, 2}), "2,2,2,2");
  for (const std::vector<int>& blocks : {std::vector{1, 3, 2, 2}, {3, 2, 2, 1}, {1, 1, 1, 5}}) {
    const WhatIfAnswer answer = whatIf(asRun(run), questionOf({blocks, {}}));
    EXPECT_EQ(answer.changed.step, simulatedStep(fourRanks(), stagesOf(blocks)));
    EXPECT_NE(answer.changed.step, answer.unchanged.step);
  }
  // Stage 0 has 300 and 700, which are 500 each where they are taken to be alike.
  const WhatIfAnswer alike = whatIf(asRun(run), questionOf({{1, 3, 2, 2}, {}}, std::nullopt));
  Costs costs = stagesOf({1, 3, 2, 2});
  costs.stages[0].forward = 500'000;
  costs.stages[0].backward = 1'000'000;
  costs.stages[1].forward = 1'500'000;
  costs.stages[1].backward = 3'000'000;
  EXPECT_EQ(alike.changed.step, simulatedStep(fourRanks(), costs));
  EXPECT_THAT(alike.assumptions, Contains(HasSubstr("are taken to take equally long")));
}

TEST(WhatIfOfPartitions, ChunksAreCutAtBlocksAndBackwardsAsTheTableSplitsThem) {
  const Timeline run = runOfBlocks(fourRanks(), stagesOf({2, 2, 2, 2}), "2,2,2,2");
  WhatIfQuestion question = questionOf({});
  question.plan.partition.reset();
  question.plan.chunks = 2;
  const std::vector<int> each(8, 1);
  EXPECT_EQ(whatIf(asRun(run), question).changed.step,
            simulatedStep(buildSchedule("Interleaved1F1B", PlanSize{4, 8, 2}), stagesOf(each)));
  question.plan.schedule = "ZBV";
  EXPECT_NEAR(static_cast<double>(whatIf(asRun(run), question).changed.step),
              static_cast<double>(simulatedStep(buildSchedule("ZBV", 4, 8), stagesOf(each))), 20)
      << "but for thirds of ns";
  question.plan.chunks = 3;
  question.plan.schedule = "Interleaved1F1B";
  EXPECT_THAT([&] { whatIf(asRun(run), question); },
              ThrowsMessage<Error>(HasSubstr("--blocks: stage 0 has 2 blocks, which are too few")));
  question.plan.chunks = 2;
  question.plan.partition = BlockPartition{.blocks = {1, 1, 1, 1, 1, 1, 2}, .recomputed = {}};
  EXPECT_THAT([&] { whatIf(asRun(run), question); },
              ThrowsMessage<Error>(HasSubstr("is for 7 stages, but the plan has 8")));
}

TEST(WhatIfOfPartitions, RecomputesMoveOrAreThoseThatThePartitionSays) {
  const auto withRecomputes = [](const std::vector<int>& blocks, Nanoseconds first,
                                 Nanoseconds second) {
    Costs costs = stagesOf(blocks);
    costs.stages[0].recompute = first;
    costs.stages[1].recompute = second;
    return std::pair(withRecompute(fourRanks(), {first > 0, second > 0, false, false}), costs);
  };
  const auto [plan, costs] = withRecomputes({2, 2, 2, 2}, 700'000, 0);  // of block 1
  Timeline run = runOfBlocks(plan, costs, "2,2,2,2");
  for (auto& [rank, info] : run.ranks) info.recomputedBlocks = "1,0,0,0";
  const auto stepOf = [&](const BlockPartition& partition) {
    return whatIf(asRun(run), questionOf(partition)).changed.step;
  };
  EXPECT_EQ(stepOf({{2, 2, 2, 2}, {}}), whatIf(asRun(run), {}).measured.step);
  EXPECT_EQ(stepOf({{2, 2, 2, 2}, {1, 0, 0, 0}}), whatIf(asRun(run), {}).measured.step);
  const auto [same, both] = withRecomputes({2, 2, 2, 2}, 1'000'000, 500'000);
  EXPECT_EQ(stepOf({{2, 2, 2, 2}, {2, 1, 0, 0}}), simulatedStep(same, both));
  const auto [moved, other] = withRecomputes({1, 3, 2, 2}, 0, 500'000);  // of its last block
  EXPECT_EQ(stepOf({{1, 3, 2, 2}, {}}), simulatedStep(moved, other));
}

TEST(WhatIfOfPartitions, MessagesTakeLongerByWhatTheLastBlockOfAStageSends) {
  const Timeline run = runOfBlocks(fourRanks(), stagesOf({2, 2, 2, 2}), "2,2,2,2");
  BlockTable table = tableOfBlocks();
  for (BlockCosts& block : table.blocks) block.message = 1'000'000;
  table.blocks[2].message = 3'000'000;
  Costs costs = stagesOf({3, 1, 2, 2});
  costs.faults.links.push_back({.rank = 0, .peer = 1, .transfer = 600'000});
  const BlockPartition partition{.blocks = {3, 1, 2, 2}, .recomputed = {}};
  EXPECT_EQ(whatIf(asRun(run), questionOf(partition, table)).changed.step,
            simulatedStep(fourRanks(), costs));
  table.bandwidth = 20e9;  // 2 MB take 0.1 ms
  costs.faults.links.back().transfer = 300'000;
  EXPECT_EQ(whatIf(asRun(run), questionOf(partition, table)).changed.step,
            simulatedStep(fourRanks(), costs));
}

TEST(WhatIfOfPartitions, ActivationsFollowTheTable) {
  BlockTable table = tableOfBlocks();
  for (BlockCosts& block : table.blocks) block.activation = 100;
  table.blocks[0].activation = 500;  // stages of 600, 200, 200 and 200 bytes: 300 in the mean
  const Timeline run = runOfBlocks(fourRanks(), stagesOf({2, 2, 2, 2}), "2,2,2,2");
  const WhatIfAnswer answer = whatIf(asRun(run), questionOf({{1, 3, 2, 2}, {}}, table));
  EXPECT_THAT(answer.peaks,
              ElementsAre(8, testing::DoubleNear(2, 1e-6), testing::DoubleNear(4 / 3.0, 1e-6),
                          testing::DoubleNear(2 / 3.0, 1e-6)));
  EXPECT_NEAR(answer.changedPeaks[0], 4 * 500 / 300.0, 1e-6);
  EXPECT_NEAR(answer.changedPeaks[1], 3, 1e-6);
  EXPECT_THAT(answer.assumptions, Not(Contains(HasSubstr("no activation_bytes"))));
}

TEST(WhatIfOfPartitions, PartitionsAndTablesThatDoNotFitAreRefused) {
  const Timeline run = runOfBlocks(fourRanks(), stagesOf({2, 2, 2, 2}), "2,2,2,2");
  const auto refused = [](const Timeline& of, const WhatIfQuestion& question,
                          const std::string& what) {
    EXPECT_THAT([&] { whatIf(asRun(of), question); }, ThrowsMessage<Error>(HasSubstr(what)));
  };
  refused(run, questionOf({{2, 2, 2, 1}, {}}),
          "--partition: the partition adds up to 7 blocks, but the model has 8");
  refused(run, questionOf({{4, 2, 2}, {}}),
          "--partition: the partition is for 3 stages, but the plan has 4");
  BlockTable shorter = tableOfBlocks();
  shorter.blocks.pop_back();
  refused(run, questionOf({{2, 2, 2, 2}, {}}, shorter),
          "--blocks: the table has 7 blocks, but the stages of the run had 8 (2,2,2,2)");
  BlockTable silent = tableOfBlocks();
  silent.blocks[4].backward = silent.blocks[5].backward = 0;
  refused(run, questionOf({{2, 2, 2, 2}, {}}, silent),
          "--blocks: the blocks of stage 2 have no backward_ms");
  WhatIfQuestion given = questionOf({{2, 2, 2, 2}, {}});
  given.blocks->partition = BlockPartition{.blocks = {3, 1, 2, 2}, .recomputed = {}};
  refused(run, given, "--run-partition 3,1,2,2: the logs say that the run had 2,2,2,2");
  const Timeline silentRun = runOfBlocks(fourRanks(), stagesOf({2, 2, 2, 2}));
  refused(silentRun, questionOf({{2, 2, 2, 2}, {}}),
          "the logs do not say how many blocks each stage of the run had; --run-partition does");
  given.blocks->partition = BlockPartition{.blocks = {2, 2, 2, 2}, .recomputed = {}};
  given.plan.partition = BlockPartition{.blocks = {1, 3, 2, 2}, .recomputed = {}};
  EXPECT_EQ(whatIf(asRun(silentRun), given).changed.step,
            simulatedStep(fourRanks(), stagesOf({1, 3, 2, 2})));
  WhatIfQuestion without = given;
  without.blocks.reset();
  refused(run, without, "--partition needs");
  Timeline contradicts = run;
  contradicts.ranks.at(2).blocks = "3,1,2,2";
  refused(contradicts, questionOf({{2, 2, 2, 2}, {}}),
          "the logs of the ranks do not agree about the blocks");
}

}  // namespace
}  // namespace pipetrace
