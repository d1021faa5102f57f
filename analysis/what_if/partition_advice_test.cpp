// Advice on partitions of runs whose blocks are known, against all partitions: each is simulated by
// itself, without the run.
#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <sstream>

#include "analysis/present/advice_report.h"
#include "analysis/run_summary.h"
#include "analysis/testing/run_of_timeline.h"
#include "analysis/what_if/advice.h"
#include "schedule/build_schedule.h"
#include "schedule/simulate/simulate.h"
#include "trace/error.h"
#include "trace/step_windows.h"
#include "trace/text/decimal_time.h"

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
  const AdviceList list = adviceOn(asRun(runOfCase(of, of.run)), question);
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
  const AdviceList list = adviceOn(asRun(run), {});
  const auto found = std::find_if(list.best.begin(), list.best.end(), [](const Advice& each) {
    return each.of == Advice::Of::kPartition;
  });
  ASSERT_NE(found, list.best.end()) << adviceText(list);
  EXPECT_THAT(found->notes, Contains(HasSubstr("are taken to take equally long")));
  EXPECT_THAT(found->command, HasSubstr(" --blocks equal"));
  for (auto& [rank, info] : run.ranks) info.blocks = "3,3,4";
  EXPECT_THAT(adviceOn(asRun(run), {}).notes,
              Contains(HasSubstr("is for 3 stages, but the plan has 4")));
}

TEST(AdviceOnPartitionsOfLogs, NamesThePartitionThatWouldGainMoreThanTheLimitAllows) {
  const BlocksCase lopsided = {"Lopsided", {5, 5, 5, 5}, {1, 3}};
  Timeline run = runOfCase(lopsided, lopsided.run);
  for (auto& [rank, info] : run.ranks) info.blocks = "1,3";
  // Rank 0 holds two micro-batches, rank 1 one, and two blocks are an activation: 1 and 1.5.
  const AdviceList list = adviceOn(asRun(run), {});
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
  const Nanoseconds bestOfAny = bestOfAll(kUneven, [](const auto&) { return true; });
  int overTheLimit = 0;
  // 1F1B holds 4 micro-batches on the first rank, 3 on the next. 2.5 blocks are an activation.
  for (const double limit : {4.9, 4.0, 3.3}) {
    question.activationLimit = limit;
    const Nanoseconds best = bestOfAll(kUneven, [&](const std::vector<int>& blocks) {
      for (std::size_t rank = 0; rank < blocks.size(); ++rank) {
        if (static_cast<double>((4 - rank)) * blocks[rank] / 2.5 > limit + 1e-9) return false;
      }
      return true;
    });
    const AdviceList list = adviceOn(asRun(run), question);
    const auto found = std::find_if(list.best.begin(), list.best.end(), [](const Advice& each) {
      return each.of == Advice::Of::kPartition;
    });
    ASSERT_NE(found, list.best.end()) << adviceText(list);
    EXPECT_LE(found->peak, limit + 1e-6) << found->what;
    EXPECT_EQ(found->step, best) << found->what;
    const bool isBetterOver =
        static_cast<double>(best - bestOfAny) / static_cast<double>(list.simulatedStep) >
        AdviceList::kLeastGain;
    overTheLimit += isBetterOver ? 1 : 0;
    const auto note = HasSubstr(" activations: cut the model into stages of ");
    EXPECT_THAT(list.notes, isBetterOver
                                ? testing::Matcher<std::vector<std::string>>(Contains(note))
                                : Not(Contains(note)));
  }
  EXPECT_GT(overTheLimit, 0);
}

TEST(AdviceOnPartitionsOfOtherSchedules, IsTheShortestOfAllUnderTheScheduleThatItNames) {
  AdviceQuestion question;
  question.blocks =
      GivenBlocks{.table = blocksOf(kUneven.forwards),
                  .partition = BlockPartition{.blocks = kUneven.run, .recomputed = {}}};
  question.activationLimit = 100;
  const AdviceList list = adviceOn(asRun(runOfCase(kUneven, kUneven.run)), question);
  std::string note;
  for (const Advice& advice : list.best) {
    for (const std::string& each : advice.notes) {
      if (each.find(" blocks as well: ") != std::string::npos) note = each;
    }
  }
  std::istringstream words(note.substr(std::min(note.find("(--schedule "), note.size())));
  std::string word;
  BlocksCase named = kUneven;
  std::string schedule;
  words >> word >> schedule >> word >> named.chunks;
  ASSERT_GE(named.chunks, 1) << adviceText(list);
  ASSERT_FALSE(schedule.empty()) << adviceText(list);
  named.schedule = schedule.c_str();
  named.run.assign(static_cast<std::size_t>(4 * named.chunks), 1);
  const Nanoseconds best = bestOfAll(named, [](const auto&) { return true; });
  EXPECT_THAT(note, HasSubstr(" blocks as well: the step takes " + formatDuration(best) + ", "));
}

TEST(AdviceOnPartitionsWithinALimit, TakesWhatAnActivationTakesFromTheTableOfBlocks) {
  BlockTable table = blocksOf(kUneven.forwards);
  for (BlockCosts& block : table.blocks) block.activation = 1'200'000'000;
  AdviceQuestion question;
  question.blocks = GivenBlocks{
      .table = table, .partition = BlockPartition{.blocks = kUneven.run, .recomputed = {}}};
  const Timeline run = runOfCase(kUneven, kUneven.run);
  question.activationLimit = 3.3;
  AdviceList inActivations = adviceOn(asRun(run), question);
  question.activationLimit.reset();
  question.limitBytes = 3.3 * 3e9;  // four ranks hold ten blocks: 2.5 blocks each
  AdviceList inBytes = adviceOn(asRun(run), question);
  ASSERT_THAT(inBytes.notes, Contains("the limit of 9.90 GB is 3.30 activations of 3.00 GB each, "
                                      "the mean of the ranks by the activation_bytes of --blocks"));
  EXPECT_NEAR(inBytes.limit, 3.3, 1e-9);
  ASSERT_EQ(inBytes.best.size(), inActivations.best.size());
  for (std::size_t i = 0; i < inBytes.best.size(); ++i) {
    EXPECT_EQ(inBytes.best[i].what, inActivations.best[i].what);
    EXPECT_EQ(inBytes.best[i].step, inActivations.best[i].step);
  }
  question.activationBytes = 6e9;
  EXPECT_THAT(adviceOn(asRun(run), question).notes,
              Contains(HasSubstr("is 1.65 activations of 6.00 GB each, as --activation-gb says; by "
                                 "the activation_bytes of --blocks one takes 3.00 GB")));
  question.activationBytes.reset();
  for (BlockCosts& block : question.blocks->table->blocks) block.activation = 0;
  EXPECT_THROW(adviceOn(asRun(run), question), Error);
}

}  // namespace
}  // namespace pipetrace
