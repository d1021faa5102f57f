// Runs in which ranks meet inside their jobs, run again. What they must be is played by rules of
// its own (HybridRun), with the change made there.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "analysis/run/steps/counted_steps.h"
#include "analysis/testing/hybrid_run.h"
#include "analysis/what_if/advice.h"
#include "analysis/what_if/run_again.h"
#include "schedule/scale/scale_option.h"

namespace pipetrace {
namespace {

/// A run, ready to run again.
struct AgainRun {
  explicit AgainRun(Timeline timeline) : run(std::move(timeline)), again(run, counted) {}

  pipetrace::Run run;
  CountedSteps counted;
  RunAgain again;
};

/// What a kernel takes, by its place: from 0.6 to 1.4 times as usual.
Nanoseconds drawn(const HybridRun::Kernel& kernel, Nanoseconds usual) {
  std::seed_seq seeds{kernel.rank,       kernel.stage, kernel.step,
                      kernel.microBatch, kernel.layer, kernel.isForward ? 1 : 0};
  std::mt19937 random(seeds);
  random.discard(8);
  return usual * 6 / 10 + static_cast<Nanoseconds>(random()) % (usual * 8 / 10);
}

std::vector<HybridRun> runsOfEachShape() {
  std::vector<HybridRun> runs(6);
  runs[0].tensor = 4;
  runs[1].stages = 3;
  runs[1].replicas = 2;
  runs[2].tensor = 1;
  runs[2].replicas = 3;
  runs[2].sharesWeights = true;
  runs[3].replicas = 2;
  runs[3].sharesWeights = true;
  runs[3].loaders[1] = 12'345'678;
  runs[4].replicas = 2;
  runs[4].sharesWeights = runs[4].gathersAhead = true;
  runs[4].moving = 4 * kNsPerMs;
  runs[0].early = 1;
  runs[5].tensor = 5;
  runs[5].ring = true;
  for (HybridRun& run : runs) run.kernel = drawn;
  return runs;
}

/// The length of each step of a run, from its first begin to its last end of compute jobs.
std::vector<Nanoseconds> stepsOf(const Timeline& timeline) {
  std::map<int, std::pair<Nanoseconds, Nanoseconds>> steps;
  for (const Track& track : timeline.tracks) {
    if (track.lane != kComputeLane) continue;
    for (const Event& event : track.events) {
      auto& [begin, end] = steps.try_emplace(event.step, kNsMax, kNsMin).first->second;
      begin = std::min(begin, event.begin);
      end = std::max(end, event.end);
    }
  }
  std::vector<Nanoseconds> lengths;
  for (const auto& [step, span] : steps) lengths.push_back(span.second - span.first);
  return lengths;
}

RunChanges scaled(const std::string& text) {
  RunChanges changes;
  changes.scales.push_back(parseScale(text));
  return changes;
}

TEST(HybridRunAgain, WithoutChangesIsTheRunItselfToTheNanosecond) {
  int number = 0;
  for (HybridRun& made : runsOfEachShape()) {
    SCOPED_TRACE(testing::Message() << "run " << number++);
    const AgainRun run(made.timeline());
    ASSERT_FALSE(run.run.graph().inside().empty());
    ASSERT_FALSE(run.again.network().meetings().empty());
    EXPECT_EQ(largestDifference(run.run.timeline(), run.again.run()), 0);
    EXPECT_EQ(stepsOf(run.again.run()), made.stepLengths);
  }
}

/// Two tensor-parallel ranks of one stage. Layers take `first` and `second` on them.
HybridRun twoRanks(Nanoseconds first, Nanoseconds second) {
  HybridRun made;
  made.stages = 1;
  made.layer = kNsPerMs;
  made.kernel = [=](const HybridRun::Kernel& kernel, Nanoseconds usual) {
    return usual / kNsPerMs * (kernel.rank == 0 ? first : second);
  };
  return made;
}

// Forwards and backwards of m micro-batches have L layers of max(a, b) and of 2 · max(a, b), each
// with a collective c: m · L · (3 · max(a, b) + 2 · c), and the optimizer.
TEST(HybridRunAgain, OfTwoRanksTheSlowerOneAtEachScaleMakesTheStep) {
  constexpr Nanoseconds kFirst = 4 * kNsPerMs;
  constexpr Nanoseconds kSecond = 5 * kNsPerMs;
  HybridRun made = twoRanks(kFirst, kSecond);
  const AgainRun run(made.timeline());
  const auto stepOf = [&](Nanoseconds a, Nanoseconds b) {
    return made.microBatches * made.layers * (3 * std::max(a, b) + 2 * made.moving) +
           made.optimizer;
  };
  const auto expectSteps = [&](const std::string& scale, Nanoseconds step) {
    EXPECT_EQ(stepsOf(run.again.run(scaled(scale))),
              std::vector<Nanoseconds>(static_cast<std::size_t>(made.steps), step))
        << scale;
  };
  ASSERT_EQ(made.stepLengths[0], stepOf(kFirst, kSecond));
  expectSteps("rank=1:0.8", stepOf(kFirst, 4 * kNsPerMs));
  expectSteps("rank=1:0.5", stepOf(kFirst, 0));  // rank 1 waits for rank 0
  expectSteps("rank=1:2", stepOf(kFirst, 10 * kNsPerMs));
  expectSteps("rank=0:1.5", stepOf(6 * kNsPerMs, kSecond));
  expectSteps("rank=0:1.25", stepOf(5 * kNsPerMs, kSecond));
  expectSteps("rank=0:0.25", stepOf(kFirst, kSecond));
}

// A gather for the next job, which another rank held up, is over before that job's message comes.
// The sums of a rank's gradients are part of jobs here and between jobs there.
class GathersAhead : public testing::TestWithParam<bool> {};

TEST_P(GathersAhead, ThatEndBetweenJobsHoldUpNothing) {
  HybridRun fast;
  fast.forwardsFirst = GetParam();
  fast.tensor = 1;
  fast.replicas = 2;
  fast.steps = 1;
  fast.sharesWeights = fast.gathersAhead = true;
  fast.moving = kNsPerMs;
  HybridRun slow = fast;
  slow.kernel = [](const HybridRun::Kernel& kernel, Nanoseconds usual) {
    return kernel.rank == 2 ? usual * 5 / 4 : usual;
  };
  const AgainRun run(slow.timeline());
  fast.timeline();
  ASSERT_GT(slow.stepLengths[0], fast.stepLengths[0] + 2 * kNsPerMs);
  EXPECT_EQ(stepsOf(run.again.run(scaled("rank=2:0.8"))), fast.stepLengths);
}

INSTANTIATE_TEST_SUITE_P(Orders, GathersAhead, testing::Bool());

TEST(HybridRunAgain, AScaledRankMovesAllThatWaitForItAsIfItHadBeenSoFast) {
  for (const auto& [factor, ring] :
       {std::pair{0.5, false}, {0.8, false}, {1.5, false}, {0.5, true}, {1.5, true}}) {
    HybridRun made;
    made.steps = 1;
    made.tensor = ring ? 6 : 2;
    made.ring = ring;
    made.stages = ring ? 2 : 3;
    made.replicas = ring ? 1 : 2;
    HybridRun changed = made;
    made.kernel = drawn;
    changed.kernel = [factor = factor](const HybridRun::Kernel& kernel, Nanoseconds usual) {
      const Nanoseconds length = drawn(kernel, usual);
      if (kernel.rank != 5) return length;
      return static_cast<Nanoseconds>(std::llround(factor * static_cast<double>(length)));
    };
    const AgainRun run(made.timeline());
    const Timeline expected = changed.timeline();
    const Timeline again = run.again.run(scaled("rank=5:" + std::to_string(factor)));
    // Pieces are scaled, and rounded when they become times.
    EXPECT_LE(largestDifference(expected, again), 12) << factor;
    if (factor > 1) {
      EXPECT_LT(made.stepLengths, changed.stepLengths);
    }
  }
}

// In the slow run gathers and scatters wait for each other, and hold up jobs. In the other one they
// are over when the next job begins.
TEST(HybridRunAgain, WeightsThatAreGatheredAheadHoldUpJobsNoLongerWhenTheirGroupIsFast) {
  for (const int stages : {1, 2, 3}) {
    HybridRun fast;
    fast.stages = stages;
    fast.tensor = 1;
    fast.replicas = 2;
    fast.sharesWeights = fast.gathersAhead = true;
    fast.layer = kNsPerMs;
    fast.moving = 600 * kNsPerUs;
    HybridRun slow = fast;
    slow.movingOf = [](int rank, Nanoseconds usual) { return rank < 2 ? 5 * usual : usual; };
    const AgainRun run(slow.timeline());
    RunChanges changes;
    for (const JobKind kind : {JobKind::kAllGather, JobKind::kReduceScatter}) {
      changes.groups.push_back(
          {.ranks = {0, 1}, .kind = kind, .axis = GroupAxis::kData, .factor = 0.2});
    }
    fast.timeline();
    ASSERT_GT(slow.stepLengths[0], fast.stepLengths[0] + 2 * kNsPerMs);
    const std::vector<Nanoseconds> again = stepsOf(run.again.run(changes));
    ASSERT_EQ(again.size(), fast.stepLengths.size());
    for (std::size_t step = 0; step < again.size(); ++step) {
      EXPECT_NEAR(static_cast<double>(again[step]), static_cast<double>(fast.stepLengths[step]),
                  1e-2 * static_cast<double>(fast.stepLengths[step]))
          << stages << " stages, step " << step;
    }
  }
}

// Two replicas that do not meet, of which one takes twice as long.
TEST(HybridRunAgain, StepsBeginWhenAllRanksHaveEndedTheOneBeforeIfTheyDidSo) {
  HybridRun made;
  made.stages = made.tensor = 1;
  made.replicas = 2;
  HybridRun changed = made;
  made.kernel = [](const HybridRun::Kernel& kernel, Nanoseconds usual) {
    return kernel.rank == 1 ? 2 * usual : usual;
  };
  const AgainRun run(made.timeline());
  EXPECT_EQ(largestDifference(changed.timeline(), run.again.run(scaled("rank=1:0.5"))), 0);
}

TEST(HybridRunAgain, CollectivesOfAGroupTakeAsManyTimesAsLong) {
  HybridRun made;
  made.steps = 1;
  made.replicas = 2;
  HybridRun changed = made;
  made.kernel = changed.kernel = drawn;
  changed.movingOf = [](int rank, Nanoseconds usual) {
    return rank == 2 || rank == 3 ? 4 * usual : usual;
  };
  const AgainRun run(made.timeline());
  RunChanges changes;
  changes.groups.push_back(
      {.ranks = {2, 3}, .kind = JobKind::kAllReduce, .axis = GroupAxis::kTensor, .factor = 4});
  EXPECT_LE(largestDifference(changed.timeline(), run.again.run(changes)), 0);
  ASSERT_NE(made.stepLengths, changed.stepLengths);
}

TEST(HybridRunAdvice, OfASlowStageSaysWhatItWouldBringIfItWereAsFastAsOthers) {
  HybridRun fast;
  fast.stages = 4;
  HybridRun slow = fast;
  slow.kernel = [](const HybridRun::Kernel& kernel, Nanoseconds usual) {
    return kernel.stage == 2 ? usual * 3 / 2 : usual;
  };
  const AgainRun run(slow.timeline());
  fast.timeline();
  const AdviceList list = adviceOn(run.run, {});
  const auto isOfStage = [](const Advice& each) { return each.of == Advice::Of::kStage; };
  const auto found = std::find_if(list.ofRun.begin(), list.ofRun.end(), isOfStage);
  ASSERT_NE(found, list.ofRun.end());
  EXPECT_EQ(found->stages, std::vector<std::int32_t>{2});
  const double step = static_cast<double>(found->step - (list.wall ? fast.betweenSteps : 0));
  EXPECT_NEAR(step, static_cast<double>(fast.stepLengths[0]), 1e-3 * step);
  EXPECT_EQ(std::count_if(list.best.begin(), list.best.end(), isOfStage), 0)
      << "nobody knows how to make it so";
}

// With `early`, kernels and jobs seem to begin a nanosecond before the collective ends that they
// waited for.
TEST(HybridRunAgain, WithEvenLoadEachRankTakesTheMeanOfItsGroup) {
  for (const Nanoseconds early : {0, 1}) {
    HybridRun made;
    made.steps = 1;
    made.tensor = 4;
    HybridRun changed = made;
    made.early = early;
    made.kernel = drawn;
    changed.kernel = [](const HybridRun::Kernel& kernel, Nanoseconds usual) {
      const int first = kernel.rank / 4 * 4;
      double sum = 0;
      for (int rank = first; rank < first + 4; ++rank) {
        HybridRun::Kernel other = kernel;
        other.rank = rank;
        sum += static_cast<double>(drawn(other, usual));
      }
      return static_cast<Nanoseconds>(std::llround(sum / 4));
    };
    const AgainRun run(made.timeline());
    RunChanges changes;
    changes.evenGroups = {{0, 1, 2, 3}, {4, 5, 6, 7}};
    const Timeline again = run.again.run(changes);
    const Timeline expected = changed.timeline();
    EXPECT_NEAR(stepsOf(again).at(0), changed.stepLengths.at(0), 200);
    // Kernels that begin while the collective runs move with it, in proportion.
    EXPECT_LE(largestDifference(expected, again), early == 0 ? 12 : 20 * kNsPerUs);
  }
}

TEST(HybridRunAgain, GathersAndScattersOfWeightsRunBesideTheJobsBeforeAndAfter) {
  for (const bool forwardsFirst : {false, true}) {
    HybridRun made;
    made.tensor = 1;
    made.replicas = 2;
    made.sharesWeights = true;
    made.forwardsFirst = forwardsFirst;
    const AgainRun run(made.timeline());
    HybridRun ahead = made;
    ahead.gathersAhead = true;
    const Timeline expected = ahead.timeline();
    RunChanges changes;
    changes.hidesWeights = true;
    EXPECT_EQ(stepsOf(run.again.run(changes)), ahead.stepLengths) << forwardsFirst;
    ASSERT_LT(ahead.stepLengths, made.stepLengths);
  }
}

TEST(HybridRunAgain, WhatIsLongerThanTheComputeBesideItStays) {
  HybridRun made;
  made.tensor = 1;
  made.replicas = 2;
  made.sharesWeights = true;
  made.moving = 30 * kNsPerMs;  // a forward takes 10 ms
  const AgainRun run(made.timeline());
  HybridRun gone = made;
  gone.moving = 0;
  const Timeline least = gone.timeline();
  RunChanges changes;
  changes.hidesWeights = true;
  const std::vector<Nanoseconds> steps = stepsOf(run.again.run(changes));
  for (std::size_t i = 0; i < steps.size(); ++i) {
    EXPECT_LT(steps[i], made.stepLengths[i]);
    EXPECT_GT(steps[i], gone.stepLengths[i] + 10 * made.microBatches * kNsPerMs);
  }
}

}  // namespace
}  // namespace pipetrace
