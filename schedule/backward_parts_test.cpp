// Last backwards in parts: cells, plans, what is wrong with them, and times by hand.
#include "schedule/backward_parts.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "schedule/add_transfers.h"
#include "schedule/build_schedule.h"
#include "schedule/check/check.h"
#include "schedule/costs.h"
#include "schedule/file/paddle_job_list.h"
#include "schedule/file/schedule_cell.h"
#include "schedule/file/schedule_file.h"
#include "schedule/file/torch_csv.h"
#include "schedule/fingerprint.h"
#include "schedule/simulate/dry_run.h"
#include "schedule/simulate/simulate.h"
#include "schedule/testing/plan_texts.h"
#include "schedule/testing/random_plans.h"
#include "schedule/testing/second_clock.h"
#include "schedule/with_recompute.h"
#include "schedule/with_reductions.h"
#include "schedule/with_replicas.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using test::problemsOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::ThrowsMessage;

TEST(BackwardParts, OnlyCellsOfBackwardsAndWeightHalvesHaveANumberBehindAPoint) {
  for (const char* const cell : {"3B7.0", "0W12.3"}) {
    const auto action = parseAction(cell);
    ASSERT_TRUE(action) << cell;
    EXPECT_EQ(toText(*action), cell);
    EXPECT_EQ(action->parts, 0) << "a cell does not say";
  }
  for (const char* const cell :
       {"0F3.0", "0I3.0", "0R3.0", "0B3.", "0B3.x", "0B.0", "0B3.0.1", "0SEND_B3.0",
        "0REDUCE_GRAD.0", "(0F1;0B2.0)OVERLAP_F_B", "0B3.-1", "0B3.99999999"}) {
    EXPECT_FALSE(parseAction(cell)) << cell;
  }
}

TEST(BackwardParts, AreMadeOfTheLastBackwardOfEachStage) {
  const Plan plan = withLastBackwardParts(buildSchedule("1F1B", 2, 2), 2);
  EXPECT_EQ(toCsv(plan), "0F0,0F1,0B0,0B1.0,0B1.1\n1F0,1B0,1F1,1B1.0,1B1.1\n");
  EXPECT_EQ(withLastBackwardParts(plan, 3).ranks, plan.ranks) << "those there are stay";
  const Plan read = readPlan(toCsv(plan), "again");
  EXPECT_EQ(read.ranks, plan.ranks);
  EXPECT_EQ(read.ranks[0].back().parts, 2);
  const Plan whole = buildSchedule("1F1B", 2, 2);
  EXPECT_EQ(withLastBackwardParts(whole, 1).ranks, whole.ranks);
  EXPECT_EQ(toCsv(withLastBackwardParts(whole, std::vector<int>{3})),
            "0F0,0F1,0B0,0B1.0,0B1.1,0B1.2\n1F0,1B0,1F1,1B1\n");
}

TEST(BackwardParts, AreThoseOfTheWeightHalfWhereThereAreHalves) {
  const Plan plan = withLastBackwardParts(buildSchedule("ZB-H1", 2, 2), 2);
  for (int rank = 0; rank < 2; ++rank) {
    const auto& row = plan.ranks[static_cast<std::size_t>(rank)];
    const std::string stage = std::to_string(rank);
    EXPECT_EQ(toText(row[row.size() - 2]), stage + "W1.0");
    EXPECT_EQ(toText(row.back()), stage + "W1.1");
    EXPECT_EQ(std::count_if(row.begin(), row.end(), [](const Action& a) { return a.isPart(); }), 2);
  }
}

TEST(BackwardParts, LeaveFusedPairsWholeAndCutTheLastOfEachCopyOfAStage) {
  const Plan fused = readPlan("0F0,0F1,0B0,0B1\n1F0,(1F1;1B0)OVERLAP_F_B,1B1\n", "fused");
  EXPECT_EQ(toCsv(withLastBackwardParts(fused, 2)),
            "0F0,0F1,0B0,0B1.0,0B1.1\n1F0,(1F1;1B0)OVERLAP_F_B,1B1.0,1B1.1\n");
  Plan pair = readPlan("0F0,1F0,(0F1;1B0)OVERLAP_F_B,0B0,(1F1;1B1)OVERLAP_F_B,0B1\n", "pair");
  pair.ranks[0].resize(5);  // its last backward of stage 1 is in the pair
  const Plan cut = withLastBackwardParts(pair, 2);
  EXPECT_EQ(toText(cut.ranks[0][2]), "(0F1;1B0)OVERLAP_F_B");
  EXPECT_EQ(toText(cut.ranks[0].back()), "(1F1;1B1)OVERLAP_F_B");
  const Plan dual = withLastBackwardParts(buildSchedule("DualPipe", 4, 8), 2);
  std::multiset<int> stages;
  for (const auto& row : dual.ranks) {
    for (const Action& action : row) {
      if (action.isPart() && action.isFirstPart()) stages.insert(action.stage);
    }
  }
  EXPECT_EQ(stages, (std::multiset<int>{0, 0, 1, 1, 2, 2, 3, 3}));
}

TEST(BackwardParts, ThatCannotBeAreRefused) {
  const auto partsOf = [](const char* name, int parts) {
    return [name, parts] { withLastBackwardParts(buildSchedule(name, 4, 8), parts); };
  };
  EXPECT_THAT(partsOf("1F1B", 0), ThrowsMessage<Error>(HasSubstr("into 0 parts")));
  EXPECT_THAT(partsOf("PipeDream", 2), ThrowsMessage<Error>(HasSubstr("without a flush")));
  EXPECT_THAT(partsOf("ForwardOnly", 2), ThrowsMessage<Error>(HasSubstr("has no backward")));
}

TEST(BackwardParts, HaveABucketEachRightBehindThem) {
  const Plan parts = withLastBackwardParts(withReplicas(buildSchedule("1F1B", 2, 2), 2), 2);
  const auto rowsOf = [](const Plan& plan) { return toText(plan.ranks[0].back()); };
  for (const int buckets : {1, 3}) {
    const Plan plan = withReductions(parts, buckets);
    EXPECT_THAT(toCsv(plan), HasSubstr("\n0F0,0F1,0B0,0B1.0,0REDUCE_GRAD0,0B1.1,0REDUCE_GRAD1\n"
                                       "1F0,1B0,1F1,1B1.0,1REDUCE_GRAD0,1B1.1,1REDUCE_GRAD1\n"));
    EXPECT_THAT(check(plan), IsEmpty());
    EXPECT_EQ(withReductions(plan).ranks, plan.ranks);
    EXPECT_EQ(asRanksRun(parts).ranks, plan.ranks);
    EXPECT_EQ(rowsOf(plan), "0REDUCE_GRAD1");
  }
  // Sends come first.
  const Plan full = withReductions(withTransfers(parts, 1));
  EXPECT_THAT(toCsv(full), HasSubstr("1B1.0,1REDUCE_GRAD0,1B1.1,1SEND_B1,1REDUCE_GRAD1\n"));
  EXPECT_THAT(check(full), IsEmpty());
}

TEST(BackwardParts, ComeBehindOneRecompute) {
  const Plan whole = buildSchedule("1F1B", 1, 2);
  const std::string row = "0F0,0R0,0B0,0F1,0R1,0B1.0,0B1.1\n";
  EXPECT_EQ(toCsv(withRecompute(withLastBackwardParts(whole, 2), {true})), row);
  EXPECT_EQ(toCsv(withLastBackwardParts(withRecompute(whole, {true}), 2)), row);
  EXPECT_THAT(problemsOf(row), IsEmpty());
  EXPECT_THAT(problemsOf("0F0,0B0.0,0R0,0B0.1\n"),
              Contains(HasSubstr("0R0 comes after 0B0.0 (cell 1), which needs it")));
}

// The numbers come from a script that follows the header of fingerprint(), in another language.
TEST(BackwardParts, ChangeTheFingerprintAndOthersKeepTheirs) {
  EXPECT_EQ(fingerprintText(fingerprint(readPlan("0F0,0B0\n", "whole"))), "ebf15d39f0e5f2ad");
  EXPECT_EQ(fingerprintText(fingerprint(readPlan("0F0,0B0.0,0B0.1\n", "parts"))),
            "65e2af183480bacc");
  const Plan plan = buildSchedule("1F1B", 4, 8);
  EXPECT_NE(fingerprint(withLastBackwardParts(plan, 2)), fingerprint(plan));
  EXPECT_NE(fingerprint(withLastBackwardParts(plan, 2)),
            fingerprint(withLastBackwardParts(plan, 3)));
}

TEST(BackwardParts, ThatAreWrongAreNamed) {
  const struct {
    const char* plan;
    const char* problem;
  } cases[] = {
      {"0F0,0B0.1,0B0.0\n", "rank 0, cell 1: 0B0.1 comes before 0B0.0 (cell 2), which it needs"},
      {"0F0,0B0.0,0B0.2\n", "rank 0, cell 2: 0B0.1 is missing before 0B0.2"},
      {"0F0,0B0.1,0B0.2\n", "rank 0, cell 1: 0B0.0 is missing before 0B0.1"},
      {"0F0,0B0.0\n",
       "rank 0, cell 1: 0B0.1 is missing: 0B0.0 is a part, and the only one of its backward"},
      {"0F0,0B0.0,0B0.0,0B0.1\n",
       "rank 0, cell 2: 0B0.0 is done already by rank 0, cell 1 (0B0.0)"},
      {"0F0,0B0,0B0.0,0B0.1\n", "rank 0, cell 3: 0B0.1 is done already by rank 0, cell 1 (0B0)"},
      {"0F0,0I0,0W0.0,0W0.1,0B0.0,0B0.1\n", "0B0.1 is done already by rank 0, cell 1 (0I0)"},
      {"0F0,0F1,0B0.0,0B0.1,0B1\n",
       "rank 0, cell 4: 0B1 comes after 0B0.0, and only the last backward of a stage on its rank "
       "is in parts"},
      {"0F0,0F1,0B0.0,0B0.1,0B1.0,0B1.1\n", "0B1.0 comes after 0B0.0, and only the last backward"},
      {"# update_every = 1\n0F0,0B0.0,0B0.1\n",
       "a plan without a flush has no last backward that may be in parts"},
      {"# ranks_of_stage = 0, replicas = 2\n0F0,0B0.0,0REDUCE_GRAD,0B0.1\n0F1,0B1.0,0B1.1\n",
       "rank 0, cell 2: 0REDUCE_GRAD comes before 0B0.1, and is not the bucket of a part that has "
       "ended"},
      {"# ranks_of_stage = 0, replicas = 2\n0F0,0B0.0,0REDUCE_GRAD1,0B0.1,0REDUCE_GRAD0\n"
       "0F1,0B1.0,0B1.1\n",
       "rank 0, cell 2: 0REDUCE_GRAD1 comes before 0B0.1"},
  };
  for (const auto& [plan, problem] : cases) {
    EXPECT_THAT(problemsOf(plan), Contains(HasSubstr(problem))) << plan;
  }
  EXPECT_THAT(problemsOf("0F0,0B0.0,0REDUCE_GRAD0,0B0.1,0REDUCE_GRAD1\n"), IsEmpty());
  EXPECT_THAT(problemsOf("0F0,0B0.0,0B0.1,0REDUCE_GRAD\n"), IsEmpty());
  Plan counted = readPlan("0F0,0B0.0,0B0.1\n", "counted");
  counted.ranks[0][1].parts = 3;
  EXPECT_THAT(problemsOf(counted),
              Contains(HasSubstr("0B0.0 is one of 3 parts, and the plan has 2")));
  counted.ranks[0][0].part = 0;
  EXPECT_THAT(problemsOf(counted), Contains(HasSubstr("only backwards and weight halves")));
}

TEST(BackwardParts, AreNoneInFilesForTorchAndOneJobInPaddlePaddlesLists) {
  const Plan whole = buildSchedule("1F1B", 2, 4);
  const Plan parts = withLastBackwardParts(whole, 2);
  EXPECT_THAT([&] { toTorchCsv(CheckedPlan(withTransfers(parts, 0))); },
              ThrowsMessage<Error>(HasSubstr("torch has no backward in parts like 0B3.0")));
  for (const int rank : {0, 1}) {
    for (const int jobs : {1, 2}) {
      const PaddleJobListOptions options{.backwardParts = jobs};
      EXPECT_EQ(toText(paddleJobList(parts, rank, options)),
                toText(paddleJobList(whole, rank, options)));
    }
  }
}

TEST(BackwardParts, AddUpToTheWholeByBlockOrEvenly) {
  for (const Nanoseconds whole : {Nanoseconds{0}, Nanoseconds{1}, Nanoseconds{100},
                                  Nanoseconds{1'000'003}, Nanoseconds{1} << 60}) {
    for (const std::int64_t blocks : {0, 1, 5, 7}) {
      for (const int parts : {2, 3, 5}) {
        const StageCosts stage{.backward = whole, .blocks = blocks};
        Nanoseconds sum = 0;
        Nanoseconds most = 0;
        for (int part = 0; part < parts; ++part) {
          const Action action{.kind = JobKind::kBackward, .part = part, .parts = parts};
          const Nanoseconds own = stage.timeOfPart(stage.backward, action);
          EXPECT_GE(own, 0);
          sum += own;
          most = std::max(most, own);
        }
        EXPECT_EQ(sum, whole);
        if (blocks == 0) {
          EXPECT_LE(most, whole / parts + 1);
        }
      }
    }
  }
  // Two parts of five blocks have the last two and the first three.
  const StageCosts five{.backward = 100, .blocks = 5};
  EXPECT_EQ(five.timeOfPart(100, {.kind = JobKind::kBackward, .part = 0, .parts = 2}), 40);
  EXPECT_EQ(five.timeOfPart(100, {.kind = JobKind::kBackward, .part = 1, .parts = 2}), 60);
  EXPECT_EQ(blocksOfPart(5, 0, 2).first, 3);
  EXPECT_EQ(blocksOfPart(5, 0, 2).end, 5);
  EXPECT_EQ(blocksOfPart(5, 1, 2).first, 0);
  EXPECT_EQ(blocksOfPart(5, 1, 2).end, 3);
}

// They follow each other, and the gradient leaves with the last.
TEST(BackwardParts, ChangeNoOtherTimeWithoutReductions) {
  test::RandomPlans random(33);
  int cut = 0;
  for (int round = 0; round < 300; ++round) {
    const Plan whole = random.any();
    const Plan parts = withLastBackwardParts(whole, 2 + random.below(3));
    ASSERT_THAT(check(parts), IsEmpty()) << toCsv(parts);
    Costs costs = Costs::equal(
        whole.numStages,
        {.forward = 7, .backward = 12, .backwardInput = 5, .backwardWeight = 9, .recompute = 3});
    costs.transfer = random.below(4);
    const DryRun a = dryRun(CheckedPlan(whole), costs);
    const DryRun b = dryRun(CheckedPlan(parts), costs);
    ASSERT_EQ(a.length, b.length) << toCsv(parts);
    for (std::size_t rank = 0; rank < whole.ranks.size(); ++rank) {
      EXPECT_EQ(a.ranks[rank].busy, b.ranks[rank].busy);
      EXPECT_EQ(a.ranks[rank].peakLive, b.ranks[rank].peakLive);
      EXPECT_EQ(a.ranks[rank].last, b.ranks[rank].last);
      for (std::size_t i = 0, j = 0; i < whole.ranks[rank].size(); ++i, ++j) {
        ASSERT_EQ(a.ranks[rank].begin[i], b.ranks[rank].begin[j]) << toCsv(parts);
        while (!parts.ranks[rank][j].isLastPart()) ++j;
        ASSERT_EQ(a.ranks[rank].end[i], b.ranks[rank].end[j]) << toCsv(parts);
        cut += parts.ranks[rank][j].isPart() ? 1 : 0;
      }
    }
  }
  EXPECT_GT(cut, 300);
}

TEST(BackwardParts, HaveTheTimesOfTheSecondClock) {
  test::RandomPlans random(34);
  int cut = 0;
  for (int round = 0; round < 600; ++round) {
    Plan plan = random.any();
    plan = withLastBackwardParts(std::move(plan), 2 + random.below(3));
    Costs costs = Costs::equal(plan.numStages, {});
    for (StageCosts& stage : costs.stages) {
      stage = {.forward = 1 + random.below(5),
               .backward = random.below(14),
               .backwardInput = 1 + random.below(5),
               .backwardWeight = random.below(14),
               .recompute = 1 + random.below(5),
               .blocks = random.below(7)};
    }
    costs.transfer = random.below(4);
    const Simulation simulation = simulate(CheckedPlan(plan), costs);
    const test::SecondClock clock(plan, costs);
    ASSERT_EQ(simulation.length, clock.length()) << toCsv(plan);
    for (int rank = 0; rank < plan.numRanks(); ++rank) {
      std::vector<Nanoseconds> begun;
      for (const Event& event : simulation.timeline.findTrack(rank, kComputeLane)->events) {
        begun.push_back(event.begin);
        cut += event.part >= 0 ? 1 : 0;
      }
      ASSERT_EQ(begun, clock.begins(rank)) << rank << "\n" << toCsv(plan);
    }
  }
  EXPECT_GT(cut, 1000);
}

/// Two replicas of 1F1B on two ranks with two micro-batches. Forwards take 1, backwards 12. Stage 1
/// does F0 (1 to 2), B0 (to 14), F1 and B1 (15 to 27). So stage 0 does B0 (14 to 26) and B1 (27 to
/// 39), which is its last backward.
Nanoseconds lengthWith(int parts, Nanoseconds reduction) {
  Plan plan = withReplicas(buildSchedule("1F1B", 2, 2), 2);
  const CheckedPlan checked(withReductions(withLastBackwardParts(std::move(plan), parts)));
  Costs costs = Costs::equal(2, {.forward = 1, .backward = 12});
  for (StageCosts& stage : costs.stages) stage.reduction = reduction;
  const Simulation simulation = simulate(checked, costs);
  EXPECT_EQ(simulation.criticalPath.length(), simulation.length);
  EXPECT_EQ(dryRun(checked, costs).length, simulation.length);
  return simulation.length;
}

// Parts take b = 12 / N, and each reduction r. The last one begins when its part has ended, and
// when the one before it has: at 39 + max(0, (N - 1) (r - b)). Nothing hides the last one.
TEST(BackwardParts, HideAllReductionsOfAStageButWhatTheirTimeSays) {
  for (const int parts : {1, 2, 3, 4, 6}) {
    for (const Nanoseconds reduction : {0, 1, 2, 3, 4, 6, 9, 20}) {
      const Nanoseconds part = 12 / parts;
      const Nanoseconds late = std::max<Nanoseconds>(0, (parts - 1) * (reduction - part));
      EXPECT_EQ(lengthWith(parts, reduction), 39 + late + reduction) << parts << " " << reduction;
    }
  }
  // One reduction of 12 shows all of it, two of 6 show one of them.
  EXPECT_EQ(lengthWith(1, 12), 51);
  EXPECT_EQ(lengthWith(2, 6), 45);
}

TEST(BackwardParts, AreJobsOfASimulatedRunWithTheirNumbers) {
  const CheckedPlan plan(withLastBackwardParts(buildSchedule("1F1B", 2, 2), 2));
  const Simulation simulation =
      simulate(plan, Costs::equal(2, {.forward = 1, .backward = 5, .activation = 3}));
  for (int rank = 0; rank < 2; ++rank) {
    const auto& events = simulation.timeline.findTrack(rank, kComputeLane)->events;
    ASSERT_EQ(events.size(), 5U);
    EXPECT_EQ(events[2].part, kNotGiven);
    EXPECT_EQ(events[3].part, 0);
    EXPECT_EQ(events[3].duration(), 2);
    EXPECT_EQ(events[4].part, 1);
    EXPECT_EQ(events[4].duration(), 3);
    EXPECT_EQ(events[3].end, events[4].begin);
    EXPECT_EQ(events[4].kind, JobKind::kBackward);
  }
  EXPECT_EQ(simulation.ranks[0].peakLive, 2);
}

}  // namespace
}  // namespace pipetrace
