// Advice on partitions of runs whose blocks are known, against all partitions: each is simulated by
// itself, without the run.
#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "analysis/advice/advice.h"
#include "analysis/run_report/advice_report.h"
#include "analysis/run_summary.h"
#include "schedule/build_schedule.h"
#include "schedule/simulate/simulate.h"
#include "trace/step_windows.h"

namespace pipetrace {
namespace {

using testing::Contains;
using testing::Field;
using testing::HasSubstr;
using testing::Not;

BlockTable blocksOf(const std::vector<Nanoseconds>& forwards) {
  BlockTable table;
  for (const Nanoseconds forward : forwards) {
    table.blocks.push_back({.forward = forward,
                            .backward = 2 * forward,
                            .backwardInput = forward,
                            .backwardWeight = forward});
  }
  return table;
}

struct BlocksCase {
  const char* name;
  std::vector<Nanoseconds> forwards;  // of blocks, in units of 100 us
  std::vector<int> run;
  const char* schedule = "1F1B";
  int chunks = 1;
  Nanoseconds slowLink = 0;  // between ranks 0 and 1
};

Plan planOfCase(const BlocksCase& of) {
  const int ranks = static_cast<int>(of.run.size()) / of.chunks;
  return buildSchedule(of.schedule, PlanSize{ranks, 8, of.chunks});
}

Timeline runOfCase(const BlocksCase& of, const std::vector<int>& blocks) {
  Costs costs;
  auto next = of.forwards.begin();
  for (const int count : blocks) {
    const Nanoseconds forward = 100'000 * std::accumulate(next, next + count, Nanoseconds{0});
    next += count;
    costs.stages.push_back({forward, 2 * forward, forward, forward});
  }
  costs.transfer = 50'000;
  if (of.slowLink > 0) costs.faults.links.push_back({0, 1, of.slowLink});
  Timeline timeline = simulate(CheckedPlan(planOfCase(of)), costs,
                               {.steps = 5, .begin = kNsPerMs, .stepsStartTogether = true})
                          .timeline;
  Diagnostics diagnostics;
  completeTimeline(timeline, diagnostics);
  return timeline;
}

Nanoseconds stepOfCase(const BlocksCase& of, const std::vector<int>& blocks) {
  return stepWindows(runOfCase(of, blocks))[2].window();
}

using Fits = std::function<bool(const std::vector<int>& blocks)>;

/// The shortest step of all partitions that fit.
Nanoseconds bestOfAll(const BlocksCase& of, const Fits& fits) {
  const auto count = static_cast<int>(of.forwards.size());
  Nanoseconds best = kNsMax;
  std::vector<int> blocks(of.run.size());
  const std::function<void(std::size_t, int)> choose = [&](std::size_t stage, int left) {
    if (stage + 1 == blocks.size()) {
      blocks[stage] = left;
      if (fits(blocks)) best = std::min(best, stepOfCase(of, blocks));
      return;
    }
    const int most = left - static_cast<int>(blocks.size() - stage - 1);
    for (int own = 1; own <= most; ++own) {
      blocks[stage] = own;
      choose(stage + 1, left - own);
    }
  };
  choose(0, count);
  return best;
}

class AdviceOnPartitions : public testing::TestWithParam<BlocksCase> {};

TEST_P(AdviceOnPartitions, TheShortestOfAllIsAmongIt) {
  const BlocksCase& of = GetParam();
  AdviceQuestion question;
  question.blocks = GivenBlocks{.table = blocksOf(of.forwards),
                                .partition = BlockPartition{.blocks = of.run, .recomputed = {}}};
  question.blockOptions = "--blocks b.json";
  question.activationLimit = 100;
  const AdviceList list = adviceOn(runOfCase(of, of.run), question);
  const auto found = std::find_if(list.best.begin(), list.best.end(), [](const Advice& each) {
    return each.of == Advice::Of::kPartition;
  });
  ASSERT_NE(found, list.best.end()) << adviceText(list);
  EXPECT_EQ(found->step, bestOfAll(of, [](const auto&) { return true; })) << found->what;
  EXPECT_THAT(list.best, Not(Contains(Field(&Advice::of, Advice::Of::kBalance))))
      << "the same, less exactly";
}

INSTANTIATE_TEST_SUITE_P(
    Runs, AdviceOnPartitions,
    testing::Values(BlocksCase{"Uneven", {3, 7, 5, 5, 9, 4, 1, 12, 6, 2}, {2, 2, 4, 2}},
                    BlocksCase{"LargeHead", {2, 5, 5, 5, 5, 5, 5, 14}, {3, 3, 2}},
                    BlocksCase{"Chunks", {8, 3, 5, 2, 2, 3, 6}, {2, 2, 2, 1}, "Interleaved1F1B", 2},
                    BlocksCase{
                        "SlowLink", {9, 4, 4, 4, 4, 4, 4, 3}, {3, 3, 2}, "GPipe", 1, 3'000'000}),
    [](const auto& info) { return std::string(info.param.name); });

const BlocksCase kUneven = {"Uneven", {3, 7, 5, 5, 9, 4, 1, 12, 6, 2}, {2, 2, 4, 2}};

TEST(AdviceOnPartitionsOfLogs, TakesBlocksOfAStageToBeAlikeAndSaysSo) {
  Timeline run = runOfCase(kUneven, kUneven.run);
  for (auto& [rank, info] : run.ranks) info.blocks = "2,2,4,2";
  const AdviceList list = adviceOn(run, {});
  const auto found = std::find_if(list.best.begin(), list.best.end(), [](const Advice& each) {
    return each.of == Advice::Of::kPartition;
  });
  ASSERT_NE(found, list.best.end()) << adviceText(list);
  EXPECT_THAT(found->notes, Contains(HasSubstr("are taken to take equally long")));
  EXPECT_THAT(found->command, HasSubstr(" --blocks equal"));
  for (auto& [rank, info] : run.ranks) info.blocks = "3,3,4";
  EXPECT_THAT(adviceOn(run, {}).notes, Contains(HasSubstr("is for 3 stages, but the plan has 4")));
}

TEST(AdviceOnPartitionsOfLogs, NamesThePartitionThatWouldGainMoreThanTheLimitAllows) {
  const BlocksCase lopsided = {"Lopsided", {5, 5, 5, 5}, {1, 3}};
  Timeline run = runOfCase(lopsided, lopsided.run);
  for (auto& [rank, info] : run.ranks) info.blocks = "1,3";
  // Rank 0 holds two micro-batches, rank 1 one, and two blocks are an activation: 1 and 1.5.
  const AdviceList list = adviceOn(run, {});
  EXPECT_DOUBLE_EQ(list.limit, 1.5);
  EXPECT_THAT(list.notes,
              Contains(testing::AllOf(
                  HasSubstr("over the limit of 1.50 activations: cut the model into stages of 2,2"),
                  HasSubstr("holds 2.00 (--limit-activations)"))))
      << adviceText(list);
  EXPECT_THAT(list.notes, Contains(HasSubstr("all blocks are taken to hold equally much")));
}

TEST(AdviceOnPartitionsWithinALimit, IsTheShortestOfThoseThatHoldNoMore) {
  BlockTable table = blocksOf(kUneven.forwards);
  for (BlockCosts& block : table.blocks) block.activation = 100;
  AdviceQuestion question;
  question.blocks = GivenBlocks{
      .table = table, .partition = BlockPartition{.blocks = kUneven.run, .recomputed = {}}};
  const Timeline run = runOfCase(kUneven, kUneven.run);
  // 1F1B holds 4 micro-batches on the first rank, 3 on the next. 2.5 blocks are an activation.
  for (const double limit : {4.9, 4.0, 3.3}) {
    question.activationLimit = limit;
    const Nanoseconds best = bestOfAll(kUneven, [&](const std::vector<int>& blocks) {
      for (std::size_t rank = 0; rank < blocks.size(); ++rank) {
        if (static_cast<double>((4 - rank)) * blocks[rank] / 2.5 > limit + 1e-9) return false;
      }
      return true;
    });
    const AdviceList list = adviceOn(run, question);
    const auto found = std::find_if(list.best.begin(), list.best.end(), [](const Advice& each) {
      return each.of == Advice::Of::kPartition;
    });
    ASSERT_NE(found, list.best.end()) << adviceText(list);
    EXPECT_LE(found->peak, limit + 1e-6) << found->what;
    EXPECT_EQ(found->step, best) << found->what;
  }
}

}  // namespace
}  // namespace pipetrace
