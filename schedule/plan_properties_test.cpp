// check() against a second opinion: random plans, and all plans that a single mistake makes of
// them. The second opinion shares no code with it: it runs all ranks at once, round after round,
// over sets of finished work.
#include <gtest/gtest.h>

#include <algorithm>

#include "schedule/add_transfers.h"
#include "schedule/backward_parts.h"
#include "schedule/build_schedule.h"
#include "schedule/check/check.h"
#include "schedule/check/update_meetings.h"
#include "schedule/file/schedule_file.h"
#include "schedule/testing/random_plans.h"
#include "schedule/testing/second_opinion.h"
#include "trace/testing/is_sanitized.h"

namespace pipetrace {
namespace {

using test::RandomPlans;
using test::secondOpinion;

/// Calls visit(plan) for every single mistake of each action of the plan.
template <typename Visit>
void forEachMistake(const Plan& plan, RandomPlans& random, const Visit& visit) {
  constexpr JobKind kKinds[] = {JobKind::kForward,         JobKind::kBackward,
                                JobKind::kBackwardInput,   JobKind::kBackwardWeight,
                                JobKind::kSendForward,     JobKind::kRecvForward,
                                JobKind::kSendBackward,    JobKind::kRecvBackward,
                                JobKind::kForwardBackward, JobKind::kRecompute};
  for (std::size_t r = 0; r < plan.ranks.size(); ++r) {
    const auto size = static_cast<int>(plan.ranks[r].size());
    for (int cell = 0; cell < size; ++cell) {
      const auto mutated = [&](const auto& change) {
        Plan copy = plan;
        change(copy.ranks[r], copy.ranks[r].begin() + cell);
        visit(copy);
      };
      using Row = std::vector<Action>;
      using At = Row::iterator;
      mutated([](Row& row, At at) { row.erase(at); });
      mutated([&](Row& row, At at) {
        const Action twice = *at;
        row.insert(row.begin() + random.below(size + 1), twice);
      });
      for (const int other : {cell + 1, random.below(size)}) {
        mutated([&](Row& row, At at) {
          if (other < size) std::iter_swap(at, row.begin() + other);
        });
      }
      for (int Action::*field : {&Action::stage, &Action::microBatch, &Action::backwardStage,
                                 &Action::backwardMicroBatch}) {
        for (const int by : {-1, 1}) mutated([&](Row&, At at) { (*at).*field += by; });
      }
      for (const JobKind kind : kKinds) mutated([&](Row&, At at) { at->kind = kind; });
      for (std::size_t target = 0; target < plan.ranks.size(); ++target) {
        Plan copy = plan;
        copy.ranks[r].erase(copy.ranks[r].begin() + cell);
        auto& row = copy.ranks[target];
        row.insert(row.begin() + random.below(static_cast<int>(row.size()) + 1),
                   plan.ranks[r][static_cast<std::size_t>(cell)]);
        visit(copy);
      }
    }
  }
}

TEST(PlanProperties, RandomPlansThatCanRunPass) {
  RandomPlans random(1);
  int full = 0;
  int twoDirections = 0;
  for (int round = 0; round < test::drawn(800); ++round) {
    const Plan plan = random.any();
    full += toCsv(plan).find("SEND") != std::string::npos;
    twoDirections += plan.isBidirectional();
    const auto problems = check(plan);
    ASSERT_TRUE(problems.empty()) << toText(problems.front()) << "\n" << toCsv(plan);
    ASSERT_TRUE(secondOpinion(plan)) << toCsv(plan);
  }
  EXPECT_GT(full, test::drawn(200));
  EXPECT_GT(twoDirections, test::drawn(80));
}

TEST(PlanProperties, EverySingleMistakeIsCaughtOrLeavesAPlanThatCanRun) {
  RandomPlans random(2);
  int mistakes = 0;
  int harmless = 0;
  for (int round = 0; round < 12; ++round) {
    const Plan plan = random.any();
    forEachMistake(plan, random, [&](const Plan& mutated) {
      const auto problems = check(mutated);
      ASSERT_EQ(problems.empty(), secondOpinion(mutated))
          << (problems.empty() ? "" : toText(problems.front())) << "\n"
          << toCsv(plan) << "became\n"
          << toCsv(mutated);
      ++mistakes;
      harmless += problems.empty();
    });
    if (testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(mistakes, 3000);
  EXPECT_GT(harmless, mistakes / 100);
}

/// A plan whose backwards can be in parts, in some of its stages.
Plan inParts(RandomPlans& random) {
  const Plan plan = random.any();
  std::vector<int> parts;
  for (int s = 0; s < plan.numStages; ++s) parts.push_back(1 + random.below(4));
  return withLastBackwardParts(plan, parts);
}

TEST(PlanProperties, EverySingleMistakeOfPlansInPartsIsCaughtOrLeavesAPlanThatCanRun) {
  RandomPlans random(21);
  int mistakes = 0;
  int harmless = 0;
  for (int round = 0; round < 5; ++round) {
    const Plan plan = inParts(random);
    const auto examine = [&](const Plan& mutated) {
      const auto problems = check(mutated);
      ASSERT_EQ(problems.empty(), secondOpinion(mutated))
          << (problems.empty() ? "" : toText(problems.front())) << "\n"
          << toCsv(plan) << "became\n"
          << toCsv(mutated);
      ++mistakes;
      harmless += problems.empty();
    };
    forEachMistake(plan, random, examine);
    for (std::size_t r = 0; r < plan.ranks.size(); ++r) {
      for (std::size_t cell = 0; cell < plan.ranks[r].size(); ++cell) {
        for (const int by : {-1, 1}) {
          Plan other = plan;
          other.ranks[r][cell].part += by;
          examine(withPartCounts(other));
        }
      }
    }
    if (testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(mistakes, 1500);
  EXPECT_GT(harmless, mistakes / 100);
}

TEST(PlanProperties, DeadlocksOfPlansInPartsAreThoseOfTheSecondOpinion) {
  RandomPlans random(22);
  int stuck = 0;
  int free = 0;
  for (int round = 0; round < test::drawn(200); ++round) {
    const Plan plan = withLastBackwardParts(random.computeOnly(), 2 + random.below(2));
    const Plan full = addTransfers(CheckedPlan(plan), {.ahead = random.below(4)});
    for (const int buffers : {kUnboundedBuffers, kBlocking, kPostedOnly, 1}) {
      const bool runs = check(full, {.buffers = buffers}).empty();
      ASSERT_EQ(runs, secondOpinion(full, buffers)) << buffers << "\n" << toCsv(full);
      (runs ? free : stuck) += buffers != kUnboundedBuffers;
    }
  }
  EXPECT_GT(stuck, test::drawn(40));
  EXPECT_GT(free, test::drawn(40));
}

TEST(PlanProperties, DeadlocksOfBlockingAndBoundedBuffersAreThoseOfTheSecondOpinion) {
  RandomPlans random(3);
  int stuck = 0;
  int free = 0;
  for (int round = 0; round < test::drawn(300); ++round) {
    const Plan plan = random.computeOnly();
    const int credits = random.below(4);
    const Plan full = addTransfers(CheckedPlan(plan), {.ahead = credits});
    const Plan lazy = addTransfers(CheckedPlan(plan), {.ahead = 0});
    for (const int buffers : {kUnboundedBuffers, kBlocking, kPostedOnly, 1, 2, 3}) {
      const bool runs = check(full, {.buffers = buffers}).empty();
      ASSERT_EQ(runs, secondOpinion(full, buffers)) << buffers << "\n" << toCsv(full);
      ASSERT_EQ(check(plan, {.buffers = buffers}).empty(), secondOpinion(lazy, buffers))
          << buffers << "\n"
          << toCsv(plan);
      (runs ? free : stuck) += buffers != kUnboundedBuffers;
    }
  }
  EXPECT_GT(stuck, test::drawn(80));
  EXPECT_GT(free, test::drawn(80));
}

TEST(PlanProperties, MistakesUnderBoundedBuffersAreCaughtToo) {
  RandomPlans random(4);
  for (int round = 0; round < 2; ++round) {
    const Plan plan = addTransfers(random.computeOnly(), {.ahead = 1});
    forEachMistake(plan, random, [&](const Plan& mutated) {
      for (const int buffers : {kBlocking, kPostedOnly, 1}) {
        ASSERT_EQ(check(mutated, {.buffers = buffers}).empty(), secondOpinion(mutated, buffers))
            << buffers << "\n"
            << toCsv(mutated);
      }
    });
    if (testing::Test::HasFatalFailure()) return;
  }
}

/// Compares check() with the second opinion, within limits on the versions of weights.
class WeightVersionProperties : public testing::Test {
 protected:
  void examine(const Plan& plan) {
    const bool canRun = secondOpinion(plan);
    for (const int versions : {1, 2, 3}) {
      for (const int distance : {0, 1, 2}) {
        const CheckOptions limits{.mostVersions = versions, .mostDistance = distance};
        const bool isKept = check(plan, limits).empty();
        ASSERT_EQ(isKept, canRun && test::secondOpinionOfVersions(plan, versions, distance))
            << versions << " versions, distance " << distance << "\n"
            << toCsv(plan);
        ++(isKept ? kept_ : broken_);
      }
    }
  }
  int kept_ = 0;
  int broken_ = 0;
};

TEST_F(WeightVersionProperties, RandomAsynchronousPlansAreJudgedAsByTheSecondOpinion) {
  RandomPlans random(5);
  int stuck = 0;  // as ranks wait for each other at their updates
  int meet = 0;
  for (int round = 0; round < 400; ++round) {
    Plan plan = random.asynchronous();
    if (random.below(3) == 0) plan.credits = 1 + random.below(2);
    ASSERT_NO_FATAL_FAILURE(examine(plan));
    if (!UpdateMeetings::exist(plan)) continue;
    stuck += !secondOpinion(plan);
    meet += check(plan).empty();
  }
  EXPECT_GT(stuck, 20);
  EXPECT_GT(meet, 20);
  EXPECT_GT(kept_, 300);
  EXPECT_GT(broken_, 300);
}

TEST_F(WeightVersionProperties, MistakesInPipeDreamAnd2bwAreJudgedAsByTheSecondOpinion) {
  RandomPlans random(6);
  for (const Plan& plan : {buildSchedule("PipeDream", 2, 4), buildSchedule("PipeDream-2BW", 2, 6),
                           buildOnStageRanks("PipeDream", {{0, 1}, {2}}, 5)}) {
    forEachMistake(plan, random, [&](const Plan& mutated) { examine(mutated); });
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(kept_, 20);
  EXPECT_GT(broken_, 1000);
}

}  // namespace
}  // namespace pipetrace
