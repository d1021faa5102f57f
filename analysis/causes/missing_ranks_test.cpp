// Runs of which some ranks have no logs: what is left to say about the others.
#include <gmock/gmock.h>

#include <numeric>
#include <string>
#include <vector>

#include "analysis/present/finding_sentences.h"
#include "analysis/testing/explained_run.h"
#include "analysis/testing/faulty_run.h"
#include "schedule/with_reductions.h"
#include "schedule/with_replicas.h"

namespace pipetrace {
namespace {

using testing::HasSubstr;

Nanoseconds timeOf(const ExplainedRank& rank, BubbleClass c) {
  return rank.bubbles[static_cast<std::size_t>(c)];
}

/// The schedule's own idle time.
std::vector<Nanoseconds> ownOf(const ExplainedRank& rank) {
  return {timeOf(rank, BubbleClass::kWarmUp), timeOf(rank, BubbleClass::kSteady),
          timeOf(rank, BubbleClass::kDrain)};
}

Timeline without(Timeline timeline, int rank) {
  std::erase_if(timeline.tracks, [&](const Track& track) { return track.rank == rank; });
  timeline.ranks.erase(rank);
  return timeline;
}

void expectWholeSums(const Explanation& run) {
  for (const ExplainedRank& rank : run.ranks) {
    EXPECT_EQ(std::accumulate(rank.bubbles.begin(), rank.bubbles.end(), Nanoseconds{}), rank.idle);
  }
}

const ExplainedRank& rankOf(const Explanation& run, int number) {
  return *std::find_if(run.ranks.begin(), run.ranks.end(),
                       [&](const ExplainedRank& rank) { return rank.rank == number; });
}

class MissingRank : public testing::TestWithParam<const char*> {};

/// The whole run is the judge. Its windows are those of the other ranks, as rank 0 begins and ends
/// the steps.
TEST_P(MissingRank, LeavesTheOthersTheSchedulesOwnShare) {
  const Plan plan = buildSchedule(GetParam(), {4, 8});
  const Timeline timeline = test::completedRun(plan, test::costsOf(plan, 0));
  const auto whole = explainRun(timeline, {});
  for (const int missing : {1, 2, 3}) {
    SCOPED_TRACE("without rank " + std::to_string(missing));
    const Timeline rest = without(timeline, missing);
    const auto run = explainRun(rest, {});
    EXPECT_EQ(run.steps.front().summary.window(), whole.steps.front().summary.window());
    ASSERT_EQ(run.ranks.size(), 3U);
    expectWholeSums(run);
    for (const ExplainedRank& rank : run.ranks) {
      EXPECT_EQ(rank.position, rank.rank);
      EXPECT_EQ(ownOf(rank), ownOf(rankOf(whole, rank.rank))) << "rank " << rank.rank;
      EXPECT_EQ(timeOf(rank, BubbleClass::kUnknown), 0) << "rank " << rank.rank;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, MissingRank,
                         testing::Values("1F1B", "FThenB", "GPipe", "ZB-H1", "Interleaved1F1B"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::erase_if(name, [](char c) { return std::isalnum(c) == 0; });
                           return name;
                         });

/// One pipeline is whole; or both lack a rank, the same or another one.
TEST_P(MissingRank, LeavesTheOthersOfTwoPipelinesTheSchedulesOwnShare) {
  const Plan plan = buildSchedule(GetParam(), {4, 8});
  Timeline timeline = test::twice(test::completedRun(plan, test::costsOf(plan, 0)));
  for (auto& [rank, info] : timeline.ranks) info.worldSize = 8;
  const auto whole = explainRun(timeline, {});
  for (const std::vector<int>& missing : {std::vector{2}, {5}, {1, 5}, {3, 6}}) {
    Timeline rest = timeline;
    for (const int rank : missing) rest = without(std::move(rest), rank);
    const auto run = explainRun(rest, {});
    ASSERT_EQ(run.ranks.size(), 8 - missing.size());
    expectWholeSums(run);
    for (const ExplainedRank& rank : run.ranks) {
      SCOPED_TRACE("rank " + std::to_string(rank.rank) + " without " +
                   testing::PrintToString(missing));
      EXPECT_EQ(rank.position, rank.rank % 4);
      EXPECT_EQ(ownOf(rank), ownOf(rankOf(whole, rank.rank)));
      EXPECT_EQ(timeOf(rank, BubbleClass::kUnknown), 0);
    }
  }
}

/// Steps begin and end with rank 1 now: one forward later, one backward earlier.
TEST(MissingRanks, FirstRankTakesItsPartOfTheStepWithIt) {
  const Plan plan = buildSchedule("1F1B", {4, 8});
  const Timeline timeline = without(test::completedRun(plan, test::costsOf(plan, 0)), 0);
  const auto run = explainRun(timeline, {});
  ASSERT_EQ(run.ranks.size(), 3U);
  expectWholeSums(run);
  for (const ExplainedRank& rank : run.ranks) {
    const Nanoseconds own = 3 * (3 - 1) * 30 * kNsPerMs;  // three steps of a pipeline of three
    const std::vector<Nanoseconds> classes = ownOf(rank);
    EXPECT_EQ(std::accumulate(classes.begin(), classes.end(), Nanoseconds{}), own);
    EXPECT_EQ(timeOf(rank, BubbleClass::kUnknown), 0);
  }
}

/// Rank 2 of one pipeline and rank 6 of the other have stage 2, which is slow on both.
TEST(MissingRanks, TheOnlyRankOfASlowStageThatHasALogMayBeSlowAlone) {
  const Plan plan = buildSchedule("1F1B", {4, 8});
  Costs costs = test::costsOf(plan, 0);
  test::scaleRank(costs, plan, 2, 1.3);
  Timeline timeline = test::twice(test::completedRun(plan, costs));
  for (auto& [rank, info] : timeline.ranks) info.worldSize = 8;
  const std::string doubt = "; the other ranks there have no logs, so that rank alone may be slow";
  const std::string whole = findingText(explainRun(timeline, {}).findings.front());
  EXPECT_THAT(whole, HasSubstr("(ranks 2 and 6) takes 1.30 times as long"));
  EXPECT_THAT(whole, testing::Not(HasSubstr(doubt)));
  const std::string rest = findingText(explainRun(without(timeline, 6), {}).findings.front());
  EXPECT_THAT(rest, HasSubstr("(rank 2) takes 1.30 times as long"));
  EXPECT_THAT(rest, HasSubstr(doubt));
}

/// Stage 2 is slow. Rank 0 waits for it through rank 1.
TEST(MissingRanks, ExcessThatComesThroughThemIsUnknown) {
  const Plan plan = buildSchedule("1F1B", {4, 8});
  for (const double transferMs : {0.0, 0.1}) {
    Costs costs = test::costsOf(plan, transferMs);
    test::scaleRank(costs, plan, 2, 1.3);
    const Timeline timeline = test::completedRun(plan, costs);
    const auto whole = explainRun(timeline, {});
    const Timeline rest = without(timeline, 1);
    const auto run = explainRun(rest, {});
    expectWholeSums(run);
    const ExplainedRank& first = rankOf(run, 0);
    EXPECT_EQ(ownOf(first), ownOf(rankOf(whole, 0)));
    EXPECT_EQ(timeOf(first, BubbleClass::kImbalance), 0);
    EXPECT_EQ(timeOf(first, BubbleClass::kTransfer), 0);
    const Nanoseconds excess = timeOf(rankOf(whole, 0), BubbleClass::kImbalance) +
                               timeOf(rankOf(whole, 0), BubbleClass::kTransfer);
    EXPECT_EQ(timeOf(first, BubbleClass::kUnknown), excess);
    EXPECT_GT(excess, 0);
    for (const auto& bubbles : run.bubbles.byRank) {
      for (const Bubble& bubble : bubbles) {
        if (bubble.bubbleClass != BubbleClass::kUnknown) continue;
        EXPECT_EQ(bubble.culprit, JobGraph::kNone);
      }
    }
    // Rank 3 has the slow stage before it.
    EXPECT_GT(timeOf(rankOf(run, 3), BubbleClass::kImbalance), 0);
    EXPECT_EQ(ownOf(rankOf(run, 3)), ownOf(rankOf(whole, 3)));
  }
}

/// Stage 1 adds its gradients for longer than the others, so the next step begins late there. Its
/// other rank has no log, so nobody knows since when the sum went on.
TEST(MissingRanks, NothingOnTheWayFromAnUnknownDelayIsBlamedForIt) {
  const Plan plan = withReductions(withReplicas(buildSchedule("Interleaved1F1B", {4, 8, 2}), 2));
  Costs costs = test::costsOf(plan, 0.01);
  for (StageCosts& stage : costs.stages) stage.reduction = kNsPerMs;
  for (const int stage : {1, 5}) costs.stages[stage].reduction = 120 * kNsPerMs;
  Timeline timeline = simulate(CheckedPlan(plan), costs, {.steps = 6}).timeline;
  Diagnostics diagnostics;
  completeTimeline(timeline, diagnostics);
  const auto remedyOf = [](const auto& explained) {
    const auto found = std::ranges::find(explained.findings, FindingKind::kUnknown, &Finding::kind);
    return found == explained.findings.end() ? Remedy::kOfClass : found->remedy;
  };
  EXPECT_EQ(remedyOf(explainRun(timeline, {})), Remedy::kOfClass) << "no log is missing";
  const auto run = explainRun(without(without(std::move(timeline), 4), 5), {});
  EXPECT_EQ(remedyOf(run), Remedy::kAllLogs);
  ASSERT_EQ(run.ranks.size(), 6U);
  expectWholeSums(run);
  for (const ExplainedRank& rank : run.ranks) {
    SCOPED_TRACE(rank.rank);
    const bool isOfItsPipeline = rank.rank < 4;
    EXPECT_GE(timeOf(rank, BubbleClass::kUnknown), isOfItsPipeline ? rank.idle / 10 : 0);
    for (const BubbleClass c :
         {BubbleClass::kImbalance, BubbleClass::kTransfer, BubbleClass::kLateStart}) {
      EXPECT_LT(timeOf(rank, c), rank.idle / 100) << rowOf(c).name;
    }
  }
}

/// All that comes after step 1 begins that much later.
Timeline pausing(Timeline timeline, Nanoseconds pause) {
  for (Track& track : timeline.tracks) {
    for (Event& event : track.events) {
      if (event.step <= 1) continue;
      event.begin += pause;
      event.end += pause;
    }
  }
  return timeline;
}

TEST(MissingRanks, APauseIsWhatIsBeyondTheUsualTimeBetweenSteps) {
  const Plan plan = buildSchedule("1F1B", {4, 8});
  const Timeline timeline = test::completedRun(plan, test::costsOf(plan, 0.1), 4);
  for (const int missing : {-1, 2}) {
    for (const Nanoseconds pause : {Nanoseconds{0}, 50 * kNsPerMs}) {
      Timeline run = pausing(timeline, pause);
      if (missing >= 0) run = without(std::move(run), missing);
      const auto explained = explainRun(run, {});
      const auto found =
          std::ranges::find(explained.findings, FindingKind::kPauses, &Finding::kind);
      ASSERT_EQ(found != explained.findings.end(), pause > 0) << missing;
      if (pause == 0) continue;
      const auto ranks = static_cast<Nanoseconds>(missing < 0 ? 4 : 3);
      EXPECT_NEAR(static_cast<double>(found->time), static_cast<double>(ranks * pause), 2e6);
      EXPECT_FALSE(found->isMinor);
    }
  }
  // The first rank of a pipeline begins its steps: without it, it may have been late in one.
  const auto later = explainRun(without(pausing(timeline, 50 * kNsPerMs), 0), {});
  EXPECT_EQ(std::ranges::find(later.findings, FindingKind::kPauses, &Finding::kind),
            later.findings.end());
}

TEST(MissingRanks, NobodyKnowsTheOwnShareOfAnOrderThatNoScheduleHas) {
  const Plan plan = buildSchedule("1F1B", {4, 8});
  Timeline timeline = without(test::completedRun(plan, test::costsOf(plan, 0)), 2);
  for (auto& [rank, info] : timeline.ranks) info.worldSize.reset();  // which rank is missing?
  for (Track& track : timeline.tracks) {
    for (Event& event : track.events) event.stage = kNotGiven;
  }
  const auto run = explainRun(timeline, {});
  expectWholeSums(run);
  for (const ExplainedRank& rank : run.ranks) {
    EXPECT_EQ(ownOf(rank), std::vector<Nanoseconds>(3, 0));
    EXPECT_GT(timeOf(rank, BubbleClass::kUnknown), 0);
  }
  EXPECT_THAT(run.schedule.problem, HasSubstr("which of them is not known"));
  EXPECT_THAT(findingText(run.findings.back()),
              HasSubstr("the schedule's own share is part of it"));
}

TEST(MissingRanks, LeaveTheOwnShareWhereBackwardPassesRecompute) {
  const Plan plan = buildSchedule("1F1B", {4, 8});
  const Timeline timeline = test::recomputing(test::completedRun(plan, test::costsOf(plan, 0)));
  const auto whole = explainRun(timeline, {});
  const Timeline rest = without(timeline, 2);
  const auto run = explainRun(rest, {});
  expectWholeSums(run);
  for (const ExplainedRank& rank : run.ranks) {
    EXPECT_EQ(ownOf(rank), ownOf(rankOf(whole, rank.rank))) << "rank " << rank.rank;
    EXPECT_EQ(timeOf(rank, BubbleClass::kUnknown), 0) << "rank " << rank.rank;
  }
  // Where only some do, their plan is not known.
  Timeline some = rest;
  for (Track& track : some.tracks) {
    std::erase_if(track.events, [](const Event& event) {
      return event.kind == JobKind::kRecompute && event.microBatch == 3;
    });
  }
  for (const ExplainedRank& rank : explainRun(some, {}).ranks) {
    EXPECT_EQ(ownOf(rank), std::vector<Nanoseconds>(3, 0));
  }
}

TEST(MissingRanks, NumbersThatNeedThemAreLeftOut) {
  const Plan plan = buildSchedule("1F1B", {4, 8});
  const Timeline timeline = without(test::completedRun(plan, test::costsOf(plan, 0)), 1);
  const auto run = explainRun(timeline, {});
  for (const ExplainedStep& step : run.steps) EXPECT_EQ(step.efficiency.planned, 0);
  EXPECT_THAT(run.slowdown.reason, HasSubstr("missing"));
  EXPECT_EQ(toText(run.schedule.recognised), "1F1B");
}

}  // namespace
}  // namespace pipetrace
