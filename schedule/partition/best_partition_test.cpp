#include "schedule/partition/best_partition.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <random>

#include "schedule/build_schedule.h"
#include "schedule/simulate/dry_run.h"
#include "schedule/simulate/simulate.h"
#include "schedule/testing/block_tables.h"
#include "schedule/with_recompute.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using test::lopsided;
using test::RandomTables;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// The costs of a stage, added up block by block.
StageCosts addedUp(const BlockTable& table, int first, int count, int recomputed) {
  StageCosts stage{.activation = 0};
  for (int i = first; i < first + count; ++i) {
    const BlockCosts& block = table.blocks[static_cast<std::size_t>(i)];
    stage.forward += block.forward;
    stage.backward += block.backward;
    stage.backwardInput += block.backwardInput;
    stage.backwardWeight += block.backwardWeight;
    stage.activation += block.activation;
    stage.freedByInput += block.freedByInput;
    stage.working = std::max(stage.working, block.working);
    stage.weights += block.parameters + block.updating;
    const std::int64_t shared = i == 0 ? 0 : table.blocks[static_cast<std::size_t>(i - 1)].shared;
    if (i > first) {
      stage.activation -= shared;
      stage.freedByInput -= shared;
    }
    if (i < first + count - recomputed) continue;
    if (i > first + count - recomputed) stage.recomputed -= shared;
    stage.recompute += block.forward;
    stage.recomputed += block.activation;
    if (i == first + count - recomputed && i > 0) {
      stage.recomputed -= table.blocks[static_cast<std::size_t>(i - 1)].message;
    }
  }
  return stage;
}

/// All ways to write `sum` as `parts` numbers from 1 on.
void everySplit(int sum, int parts, std::vector<int>& split, const std::function<void()>& visit) {
  if (parts == 1) {
    split.push_back(sum);
    visit();
    split.pop_back();
    return;
  }
  for (int first = 1; first <= sum - parts + 1; ++first) {
    split.push_back(first);
    everySplit(sum - first, parts - 1, split, visit);
    split.pop_back();
  }
}

/// The best of all.
struct Truth {
  Nanoseconds step = kNsMax;     // the shortest within the limit
  std::int64_t excess = kNsMax;  // the least over it
  int looked = 0;
};

/// Simulates every partition with every number of recomputes, or with none.
class BruteForce {
 public:
  BruteForce(const CheckedPlan& plan, const BlockTable& table, std::int64_t limit)
      : plan_(plan), table_(table), limit_(limit) {}

  Truth run() {
    std::vector<int> split;
    everySplit(table_.numBlocks(), plan_->numStages, split, [&] {
      std::vector<int> counts(split.size(), 0);
      while (true) {
        look(split, counts);
        std::size_t stage = 0;
        while (stage < counts.size() && (limit_ == 0 || ++counts[stage] > split[stage])) {
          counts[stage++] = 0;
        }
        if (stage == counts.size()) break;
      }
    });
    return truth_;
  }

 private:
  void look(const std::vector<int>& blocks, const std::vector<int>& counts) {
    ++truth_.looked;
    Costs costs{.transfer = table_.transfer};
    std::vector<bool> recomputes;
    int first = 0;
    for (std::size_t s = 0; s < blocks.size(); ++s) {
      costs.stages.push_back(addedUp(table_, first, blocks[s], counts[s]));
      recomputes.push_back(counts[s] > 0);
      first += blocks[s];
    }
    const auto known = plans_.find(recomputes);
    const CheckedPlan& plan =
        known != plans_.end()
            ? known->second
            : plans_.emplace(recomputes, CheckedPlan(withRecompute(*plan_, recomputes)))
                  .first->second;
    const DryRun run = dryRun(plan, costs);
    std::int64_t excess = 0;
    for (const DryRun::Rank& rank : run.ranks) {
      if (limit_ > 0) excess = std::max(excess, rank.peakMemory - limit_);
    }
    truth_.excess = std::min(truth_.excess, excess);
    if (excess == 0) truth_.step = std::min(truth_.step, run.length);
  }

  const CheckedPlan& plan_;
  const BlockTable& table_;
  const std::int64_t limit_;
  std::map<std::vector<bool>, CheckedPlan> plans_;
  Truth truth_;
};

void expectBest(const CheckedPlan& plan, const BlockTable& table, std::int64_t limit) {
  const Truth truth = BruteForce(plan, table, limit).run();
  const BestPartition found = bestPartition(plan, table, {.memoryLimit = limit});
  EXPECT_EQ(found.best.excess, truth.excess);
  EXPECT_TRUE(found.isProven);
  if (truth.excess > 0) return;
  EXPECT_EQ(found.best.step, truth.step);
  const Simulation simulation = simulate(CheckedPlan(withRecompute(*plan, found.best.partition)),
                                         costsOf(table, *plan, found.best.partition));
  EXPECT_EQ(simulation.length, truth.step);
  for (std::size_t rank = 0; rank < simulation.ranks.size(); ++rank) {
    EXPECT_EQ(simulation.ranks[rank].peakMemory, found.best.peakMemory[rank]);
    if (limit == 0) continue;
    EXPECT_LE(simulation.ranks[rank].peakMemory, limit);
  }
}

/// The memory of the even partition's fullest rank, without recomputes.
std::int64_t evenPeak(const CheckedPlan& plan, const BlockTable& table) {
  const auto peaks = bestPartition(plan, table).even.peakMemory;
  return *std::max_element(peaks.begin(), peaks.end());
}

struct Case {
  const char* schedule;
  int ranks;
  int chunks;
};

class BestPartitionTest : public ::testing::TestWithParam<Case> {
 protected:
  static CheckedPlan plan(int ranks, int chunks) {
    return buildSchedule(GetParam().schedule,
                         PlanSize{.ranks = ranks, .microBatches = 6, .chunks = chunks});
  }
};

TEST_P(BestPartitionTest, ABlockOfFourTimesTheOthersIsBestPlacedWhereverItIs) {
  const int chunks = GetParam().chunks;
  const CheckedPlan four = plan(4 / chunks, chunks);
  for (int place = 0; place < 14; ++place) {
    SCOPED_TRACE(place);
    expectBest(four, lopsided(14, place), 0);
  }
}

TEST_P(BestPartitionTest, RandomBlocksWithoutALimitAreBestCut) {
  const int chunks = GetParam().chunks;
  const CheckedPlan four = plan(4 / chunks, chunks);
  RandomTables random(7);
  for (int i = 0; i < 20; ++i) {
    SCOPED_TRACE(i);
    expectBest(four, random.table(4 + random.below(11)), 0);
  }
}

TEST_P(BestPartitionTest, RecomputesWithinALimitAreTheBestOfAllCounts) {
  const CheckedPlan own = plan(GetParam().ranks, GetParam().chunks);
  const int most = own->numStages > 3 ? 8 : 10;
  for (int place = 0; place < most; ++place) {
    SCOPED_TRACE("large block " + std::to_string(place));
    const BlockTable table = lopsided(most, place);
    expectBest(own, table, evenPeak(own, table) * 7 / 10);
  }
  RandomTables random(8);
  for (int i = 0; i < 20; ++i) {
    SCOPED_TRACE(i);
    const BlockTable table = random.table(own->numStages + random.below(most - own->numStages + 1));
    expectBest(own, table, evenPeak(own, table) * (4 + random.below(7)) / 10);
  }
}

TEST_P(BestPartitionTest, ALimitThatNothingKeepsIsMissedByAsLittleAsPossible) {
  const CheckedPlan own = plan(GetParam().ranks, GetParam().chunks);
  RandomTables random(9);
  for (int i = 0; i < 5; ++i) {
    const BlockTable table = random.table(6);
    expectBest(own, table, evenPeak(own, table) / 10);
    EXPECT_GT(bestPartition(own, table, {.memoryLimit = evenPeak(own, table) / 10}).best.excess, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Schedules, BestPartitionTest,
                         ::testing::Values(Case{"1F1B", 3, 1}, Case{"Interleaved1F1B", 2, 2},
                                           Case{"ZB-H1", 3, 1}, Case{"ZBV", 2, 2},
                                           Case{"PipeDream", 3, 1}),
                         [](const auto& info) {
                           std::string name = info.param.schedule;
                           std::erase(name, '-');
                           return name;
                         });

// The search has no time to look at all partitions; what it goes down to is checked alone.
TEST(BestPartitionWalkTest, WithoutLookingAtAllItComesWithinTwoPercent) {
  RandomTables random(10);
  const CheckedPlan plan = buildSchedule("1F1B", 4, 8);
  int proven = 0;
  for (int i = 0; i < 20; ++i) {
    const BlockTable table = random.table(14);
    const Truth truth = BruteForce(plan, table, 0).run();
    ASSERT_EQ(truth.looked, 286);
    const BestPartition found = bestPartition(plan, table, {.budget = 60 * 64});
    EXPECT_LE(static_cast<double>(found.best.step), 1.02 * static_cast<double>(truth.step));
    proven += found.isProven ? 1 : 0;
  }
  EXPECT_LT(proven, 10);
}

TEST(BestPartitionResultTest, AlikeBlocksAreCutEvenly) {
  const CheckedPlan plan = buildSchedule("1F1B", 16, 32);
  BlockTable table = lopsided(192, 0);
  table.blocks[0] = table.blocks[1];
  const BestPartition found = bestPartition(plan, table, {.budget = 4'000'000});
  EXPECT_EQ(found.best.step, found.even.step);
  // (m + p - 1) (F + B) of twelve blocks, which take 3 ms each.
  EXPECT_EQ(found.best.step, 47 * 12 * 3 * kNsPerMs);
}

TEST(BestPartitionResultTest, PartitionsThatThereAreNotAreRefused) {
  const CheckedPlan plan = buildSchedule("1F1B", 4, 8);
  const auto search = [](const CheckedPlan& of, const BlockTable& table, std::int64_t limit) {
    return [=] { bestPartition(of, table, {.memoryLimit = limit}); };
  };
  EXPECT_THAT(search(plan, lopsided(3, 0), 0),
              ThrowsMessage<Error>(HasSubstr("3 blocks cannot be cut into 4 stages")));
  BlockTable times = lopsided(8, 0);
  for (BlockCosts& block : times.blocks) block.activation = block.parameters = 0;
  EXPECT_THAT(search(plan, times, 5), ThrowsMessage<Error>(HasSubstr("activation_bytes")));
  const CheckedPlan own(withRecompute(*plan, {true}));
  EXPECT_THAT(search(own, lopsided(8, 0), 0),
              ThrowsMessage<Error>(HasSubstr("says itself what runs again")));
}

}  // namespace
}  // namespace pipetrace
