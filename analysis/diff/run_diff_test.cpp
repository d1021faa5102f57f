// Runs that differ in a known way: what is said of the difference, and that its parts add up.
#include "analysis/diff/run_diff.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>

#include "analysis/present/diff_reasons.h"
#include "analysis/present/diff_report.h"
#include "analysis/testing/hand_made_timeline.h"
#include "analysis/testing/hybrid_run.h"
#include "analysis/testing/noisy_run.h"
#include "analysis/testing/run_of_timeline.h"

namespace pipetrace {
namespace {

using test::costsOf;
using test::noisyRun;
using test::scaleRank;
using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

const Plan& onFour() {
  static const Plan plan = buildSchedule("1F1B", {4, 8});
  return plan;
}

Timeline usual(unsigned seed, int steps = 20) {
  return noisyRun(onFour(), costsOf(onFour(), 0.1), steps, seed);
}

/// The parts of each run add up to its step, and their differences to the step's; reasons add up to
/// the difference of what is compared.
void expectExactSums(const RunDiff& diff) {
  Nanoseconds a = 0;
  Nanoseconds b = 0;
  Nanoseconds difference = 0;
  for (const DiffPart& part : diff.parts) {
    a += part.a;
    b += part.b;
    difference += part.difference();
  }
  EXPECT_EQ(a, diff.step.a);
  EXPECT_EQ(b, diff.step.b);
  EXPECT_EQ(difference, diff.step.difference());
  Nanoseconds reasons = 0;
  for (const DiffReason& reason : reasonsOf(diff)) reasons += reason.time;
  EXPECT_EQ(reasons, diff.unit().difference());
}

RunDiff diffOfRuns(Timeline a, Timeline b) {
  RunDiff diff = diffOf(asRun(std::move(a)), asRun(std::move(b)), {});
  if (diff.how.refusal.empty()) expectExactSums(diff);
  return diff;
}

/// The mean window of the steps, which is that of every rank.
double meanStep(const Timeline& run) {
  const std::vector<StepWindow> steps = stepWindows(run);
  double sum = 0;
  for (const StepWindow& step : steps) sum += static_cast<double>(step.window());
  return sum / static_cast<double>(steps.size());
}

const JobChange* jobsOf(const RunDiff& diff, int stage, JobKind kind) {
  const auto found = std::find_if(diff.jobs.begin(), diff.jobs.end(), [&](const JobChange& each) {
    return each.stage == stage && each.kind == kind;
  });
  return found == diff.jobs.end() ? nullptr : &*found;
}

TEST(RunDiff, ARunWithItselfShowsNothing) {
  const RunDiff diff = diffOfRuns(usual(1), usual(1));
  EXPECT_EQ(diffVerdict(diff), "equal");
  EXPECT_THAT(diffAnswer(diff), StartsWith("B's steps take as long as A's, "));
  EXPECT_THAT(changeReasons(diff), IsEmpty());
  EXPECT_TRUE(diff.isPaired);
  EXPECT_FALSE(diff.isSlower());
  for (const DiffPart& part : diff.parts) EXPECT_EQ(part.difference(), 0);
}

TEST(RunDiff, TwoRunsOfOneProgramShowNothingBeyondNoise) {
  const RunDiff diff = diffOfRuns(usual(1), usual(2));
  EXPECT_EQ(diffVerdict(diff), "equal");
  EXPECT_THAT(diffAnswer(diff), StartsWith("no difference beyond noise: B's steps take "));
  EXPECT_THAT(changeReasons(diff), IsEmpty());
}

TEST(RunDiff, NamesTheStageThatTakesLongerAndWhatItCosts) {
  Costs costs = costsOf(onFour(), 0.1);
  scaleRank(costs, onFour(), 2, 1.1);
  const Timeline slow = noisyRun(onFour(), costs, 20, 2);
  const Timeline a = usual(1);
  const RunDiff diff = diffOfRuns(a, slow);
  EXPECT_NEAR(static_cast<double>(diff.step.a), meanStep(a), 1);
  EXPECT_NEAR(static_cast<double>(diff.step.b), meanStep(slow), 1);
  EXPECT_EQ(diffVerdict(diff), "slower");
  EXPECT_TRUE(diff.isSlower());
  EXPECT_THAT(diffAnswer(diff),
              AllOf(StartsWith("B's steps take "),
                    ContainsRegex(": stage 2's jobs take (9\\.[5-9]|10\\.[0-5]) % longer \\(\\+")));
  const std::vector<DiffReason> changes = changeReasons(diff);
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_GT(changes.front().time, diff.step.difference() * 9 / 10);
  for (const JobKind kind : {JobKind::kForward, JobKind::kBackward}) {
    EXPECT_NEAR(jobsOf(diff, 2, kind)->factor(), 1.1, 0.005);
    EXPECT_TRUE(jobsOf(diff, 2, kind)->isClear);
    EXPECT_FALSE(jobsOf(diff, 1, kind)->isClear);
  }
  const RunDiff back = diffOfRuns(slow, a);
  EXPECT_EQ(diffVerdict(back), "faster");
  EXPECT_FALSE(back.isSlower());
  EXPECT_THAT(diffAnswer(back), ContainsRegex(" less \\(-.*stage 2's jobs take .* % less time"));
}

TEST(RunDiff, PartsThatDoNotDifferBeyondNoiseAreNoReason) {
  Costs costs = costsOf(onFour(), 0.1);
  scaleRank(costs, onFour(), 2, 1.1);
  RunDiff diff = diffOfRuns(usual(1), noisyRun(onFour(), costs, 20, 2));
  DiffPart part;
  part.bubbleClass = BubbleClass::kPeerWait;
  part.rank = 1;
  part.b = diff.step.difference();
  diff.step.b += part.b;
  const auto time = static_cast<double>(part.b);
  for (const bool isNoise : {false, true}) {
    part.sure = ConfidenceInterval{.low = isNoise ? -time : time / 2, .high = 3 * time};
    diff.parts.push_back(part);
    const auto named = HasSubstr("waits for unusually long jobs of rank 1 are longer");
    EXPECT_THAT(diffAnswer(diff), HasSubstr("stage 2's jobs take"));
    if (isNoise) {
      EXPECT_THAT(diffAnswer(diff), Not(named));
    } else {
      EXPECT_THAT(diffAnswer(diff), named);
    }
    diff.parts.pop_back();
  }
}

TEST(RunDiff, NamesTheKindThatTakesLongerOnAllStages) {
  Costs costs = costsOf(onFour(), 0.1);
  for (StageCosts& stage : costs.stages) stage.backward = stage.backward * 5 / 4;
  EXPECT_THAT(diffAnswer(diffOfRuns(usual(1), noisyRun(onFour(), costs, 20, 2))),
              ContainsRegex(": backwards of all stages take 2[45]\\.. % longer"));
}

TEST(RunDiff, NamesTheLinkWhoseMessagesTakeLonger) {
  Costs costs = costsOf(onFour(), 0.1);
  costs.faults.links.push_back({1, 2, 4 * kNsPerMs});
  const RunDiff diff = diffOfRuns(usual(1), noisyRun(onFour(), costs, 20, 2));
  EXPECT_THAT(diffAnswer(diff),
              HasSubstr(": messages between ranks 1 and 2 take 4.000 ms instead of 100.0 us (+"));
  EXPECT_EQ(changeReasons(diff).size(), 1U);
  EXPECT_GT(changeReasons(diff).front().time, diff.step.difference() / 2);
}

TEST(RunDiff, NamesTheOneMicroBatchThatTakesLonger) {
  Costs costs = costsOf(onFour(), 0.1);
  costs.faults.jobs.push_back(
      {.action = {.kind = JobKind::kForward, .stage = 1, .microBatch = 4}, .longer = 8 * kNsPerMs});
  const RunDiff diff = diffOfRuns(usual(1), noisyRun(onFour(), costs, 20, 2));
  EXPECT_THAT(diffAnswer(diff),
              ContainsRegex("stage 1's forwards of micro-batch 4 take 7[89]\\.. % longer"));
}

TEST(RunDiff, ChangesThatNobodyWaitsForDoNotMakeBSlower) {
  Costs costs = costsOf(onFour(), 0.1);
  Costs less = costs;
  scaleRank(costs, onFour(), 2, 1.5);  // all wait for stage 2
  scaleRank(less, onFour(), 2, 1.5);
  scaleRank(less, onFour(), 1, 1.2);
  const RunDiff diff =
      diffOfRuns(noisyRun(onFour(), costs, 20, 1), noisyRun(onFour(), less, 20, 2));
  EXPECT_THAT(diffAnswer(diff), HasSubstr("stage 1's jobs take "));
  EXPECT_LT(std::abs(static_cast<double>(diff.step.difference())),
            0.05 * static_cast<double>(diff.step.a));
  EXPECT_THAT(diffAnswer(diff), Not(HasSubstr("stage 2")));
}

TEST(RunDiff, RunsOfOtherMicroBatchCountsAreComparedPerMicroBatch) {
  const Plan plan = buildSchedule("1F1B", {4, 16});
  const RunDiff diff = diffOfRuns(usual(1), noisyRun(plan, costsOf(plan, 0.1), 20, 2));
  EXPECT_TRUE(diff.how.isPerMicroBatch);
  EXPECT_EQ(diffVerdict(diff), "faster");
  EXPECT_THAT(diffAnswer(diff), AllOf(StartsWith("a micro-batch of B takes "),
                                      HasSubstr("the schedule itself leaves")));
  EXPECT_THAT(diffText({diff, "a", "b"}),
              HasSubstr("a step of A has 8 micro-batches, one of B 16: compared per micro-batch"));
  // The step of 1F1B takes (m + p - 1) (F + B), so 11 / 8 and 19 / 16 of it a micro-batch.
  EXPECT_NEAR(static_cast<double>(diff.step.b) / static_cast<double>(diff.step.a),
              (19.0 / 16) / (11.0 / 8), 0.01);
}

TEST(RunDiff, RunsOfOtherNumbersOfRanksAreComparedByKind) {
  const Plan plan = buildSchedule("1F1B", {2, 8});
  const RunDiff diff = diffOfRuns(usual(1), noisyRun(plan, costsOf(plan, 0.1), 20, 2));
  EXPECT_EQ(diff.how.places, Comparison::Places::kNone);
  EXPECT_TRUE(diff.how.isPerMicroBatch);
  EXPECT_THAT(diff.links, IsEmpty());
  ASSERT_EQ(diff.jobs.size(), 2U);
  EXPECT_NEAR(diff.jobs.front().factor(), 1, 0.02);
  EXPECT_THAT(diffText({diff, "a", "b"}), HasSubstr("a pipeline of A has 4 ranks, one of B 2"));
}

TEST(RunDiff, RunsOfOtherSchedulesNameThem) {
  const Plan plan = buildSchedule("ZB-H1", {4, 8});
  const RunDiff diff = diffOfRuns(usual(1), noisyRun(plan, costsOf(plan, 0.1), 20, 2));
  EXPECT_EQ(diffVerdict(diff), "faster");
  EXPECT_THAT(diffAnswer(diff), HasSubstr("ZB-H1 in place of 1F1B leaves "));
  EXPECT_THAT(diffText({diff, "a", "b"}),
              HasSubstr("B has backwards in halves, which are compared as whole ones"));
  ASSERT_NE(jobsOf(diff, 1, JobKind::kBackward), nullptr);
  EXPECT_NEAR(jobsOf(diff, 1, JobKind::kBackward)->factor(), 1, 0.02);
}

TEST(RunDiff, SchedulesWithTheSameIdleTimeAreNamedAtTheEnd) {
  const Plan plan = buildSchedule("GPipe", {4, 8});
  Costs costs = costsOf(plan, 1);
  const Timeline gpipe = noisyRun(plan, costs, 20, 2);
  const RunDiff diff = diffOfRuns(noisyRun(onFour(), costs, 20, 1), gpipe);
  EXPECT_EQ(diffVerdict(diff), "faster");
  EXPECT_THAT(diffAnswer(diff), testing::EndsWith("; A follows 1F1B, B GPipe"));
}

TEST(RunDiff, RunsOfOtherChunksAreComparedByPosition) {
  const Plan plan = buildSchedule("Interleaved1F1B", {.ranks = 4, .microBatches = 8, .chunks = 2});
  const RunDiff diff = diffOfRuns(usual(1), noisyRun(plan, costsOf(plan, 0.1), 20, 2));
  EXPECT_EQ(diff.how.places, Comparison::Places::kPositions);
  EXPECT_THAT(diffText({diff, "a", "b"}),
              HasSubstr("A has 1 stage on a rank, B 2: compared by rank, not by stage"));
  // Its eight stages are as long as the four.
  ASSERT_EQ(diff.jobs.size(), 8U);
  for (const JobChange& change : diff.jobs) EXPECT_NEAR(change.factor(), 2, 0.02);
}

TEST(RunDiff, AsynchronousRunsAreComparedPerMicroBatch) {
  const Plan plan = buildSchedule("PipeDream", {4, 8});
  Costs costs = costsOf(plan, 0.1);
  const auto run = [&](unsigned seed) { return noisyRun(plan, costs, 20, seed); };
  const Timeline a = run(1);
  EXPECT_EQ(diffVerdict(diffOfRuns(a, run(2))), "equal");
  scaleRank(costs, plan, 2, 1.1);
  const RunDiff diff = diffOfRuns(a, run(2));
  EXPECT_GE(diff.a.steps.size(), 19U) << "the window is cut by steps";
  EXPECT_EQ(diffVerdict(diff), "slower");
  EXPECT_THAT(diffAnswer(diff), ContainsRegex("^a micro-batch of B takes .*stage 2's jobs take "));
  EXPECT_THAT(diffText({diff, "a", "b"}), HasSubstr("A has no flush between steps"));
}

TEST(RunDiff, LeavesOutRanksThatHaveNoLogInOneRun) {
  Timeline a = usual(1);
  for (auto& [rank, info] : a.ranks) info.worldSize = 4, info.numStages = 4;
  Costs costs = costsOf(onFour(), 0.1);
  scaleRank(costs, onFour(), 1, 1.1);
  Timeline b = noisyRun(onFour(), costs, 20, 2);
  for (auto& [rank, info] : b.ranks) info.worldSize = 4, info.numStages = 4;
  std::erase_if(b.tracks, [](const Track& track) { return track.rank == 2; });
  b.ranks.erase(2);
  const RunDiff diff = diffOfRuns(a, b);
  EXPECT_THAT(diff.onlyRanks, testing::ElementsAre(0, 1, 3));
  EXPECT_THAT(diffAnswer(diff), HasSubstr("stage 1's jobs take "));
  EXPECT_THAT(diffText({diff, "a", "b"}),
              AllOf(HasSubstr("as if only ranks 0, 1 and 3 were there"),
                    HasSubstr("B has jobs that wait for ranks without a log")));
}

TEST(RunDiff, LeavesOutStepsInWhichARankHasNoJobs) {
  Timeline cut = usual(1);
  for (Track& track : cut.tracks) {
    if (track.rank == 1) std::erase_if(track.events, [](const Event& e) { return e.step >= 6; });
  }
  const std::string text = diffText({diffOfRuns(usual(1), cut), "a", "b"});
  EXPECT_THAT(text, HasSubstr("B: jobs are missing in 14 steps, which are left out"));
  EXPECT_THAT(text, Not(HasSubstr("unknown")));
}

TEST(RunDiff, NamesTheOneRankOfAStageThatIsSlower) {
  const auto replicas = [&](unsigned seed, double factor) {
    Timeline run = test::twice(usual(seed));
    Costs costs = costsOf(onFour(), 0.1);
    scaleRank(costs, onFour(), 2, factor);
    Timeline second = noisyRun(onFour(), costs, 20, seed + 10);
    for (Track& track : run.tracks) {
      if (track.rank >= 4) track.events = second.findTrack(track.rank - 4, track.lane)->events;
      for (Event& event : track.events) event.argumentCount = 0;
    }
    for (Track& track : run.tracks) {
      for (Event& event : track.events) {
        if (track.rank >= 4 && event.peer >= 0) event.peer += 4;
      }
    }
    for (auto& [rank, info] : run.ranks) info.worldSize = 8;
    run.sort();
    return run;
  };
  const RunDiff diff = diffOfRuns(replicas(1, 1), replicas(2, 1.2));
  EXPECT_THAT(diffAnswer(diff),
              ContainsRegex("rank 6's jobs \\(stage 2\\) take (19|20)\\.. % longer"));
  // One replica of them against both: stages are compared, ranks are not.
  const RunDiff half = diffOfRuns(usual(3), replicas(1, 1));
  EXPECT_FALSE(half.how.hasSameRanks);
  EXPECT_EQ(diffVerdict(half), "equal");
  EXPECT_THAT(diffText({half, "a", "b"}), HasSubstr("A has 4 ranks in 1 pipeline, B 8 in 2"));
}

TEST(RunDiff, TensorParallelPeersShareTheTimesOfTheirStage) {
  const auto peers = [&](unsigned seed, double factor) {
    Costs costs = costsOf(onFour(), 0.1);
    scaleRank(costs, onFour(), 2, factor);
    Timeline run = test::twice(noisyRun(onFour(), costs, 20, seed));
    for (Track& track : run.tracks) {
      for (Event& event : track.events) {
        if (track.rank >= 4 && event.peer >= 0) event.peer += 4;
      }
    }
    for (auto& [rank, info] : run.ranks) {
      info.worldSize = 8;
      info.dataParallelIndex = 0;
      info.tensorParallelIndex = rank / 4;
    }
    run.sort();
    return run;
  };
  const RunDiff diff = diffOfRuns(peers(1, 1), peers(2, 1.1));
  EXPECT_THAT(jobsOf(diff, 2, JobKind::kForward)->ranks, testing::ElementsAre(2, 6));
  EXPECT_THAT(diffAnswer(diff), HasSubstr(": stage 2's jobs take "));
  EXPECT_THAT(diffText({diff, "a", "b"}),
              HasSubstr("ranks share the work of a stage (tensor parallel: 2)"));
}

TEST(RunDiff, UnknownSchedulesAreComparedAllTheSame) {
  Plan plan = buildSchedule("1F1B", {2, 6});
  for (std::vector<Action>& actions : plan.ranks) {
    const int stage = actions.front().stage;
    actions.clear();
    for (const auto& [kind, microBatch] : std::initializer_list<std::pair<char, int>>{{'F', 0},
                                                                                      {'F', 1},
                                                                                      {'B', 1},
                                                                                      {'B', 0},
                                                                                      {'F', 2},
                                                                                      {'B', 2},
                                                                                      {'F', 5},
                                                                                      {'F', 3},
                                                                                      {'F', 4},
                                                                                      {'B', 4},
                                                                                      {'B', 5},
                                                                                      {'B', 3}}) {
      actions.push_back({.kind = kind == 'F' ? JobKind::kForward : JobKind::kBackward,
                         .stage = stage,
                         .microBatch = microBatch});
    }
  }
  Costs costs = costsOf(plan, 0.1);
  const Timeline a = noisyRun(plan, costs, 20, 1);
  scaleRank(costs, plan, 1, 1.1);
  const RunDiff diff = diffOfRuns(a, noisyRun(plan, costs, 20, 2));
  EXPECT_EQ(diff.a.schedule, "unknown order");
  EXPECT_THAT(diffAnswer(diff), HasSubstr(": stage 1's jobs take "));
  EXPECT_THAT(diffText({diff, "a", "b"}),
              HasSubstr("neither run follows a schedule that is known"));
}

TEST(RunDiff, WithoutMessagesStillExplainsTheDifference) {
  const auto without = [](Timeline run) {
    for (Track& track : run.tracks) {
      std::erase_if(track.events, [](const Event& event) { return isTransfer(event.kind); });
    }
    return run;
  };
  Costs costs = costsOf(onFour(), 0.1);
  costs.faults.links.push_back({1, 2, 4 * kNsPerMs});
  const RunDiff diff = diffOfRuns(without(usual(1)), without(noisyRun(onFour(), costs, 20, 2)));
  EXPECT_THAT(diff.links, IsEmpty());
  EXPECT_THAT(diffAnswer(diff), HasSubstr("waits for messages are longer (+"));
  EXPECT_THAT(diffText({diff, "a", "b"}), HasSubstr("both runs have no messages in the logs"));
}

TEST(RunDiff, TrainingAndEvaluationHaveTheirForwardsComparedOnly) {
  const Plan forwards = buildSchedule("Forward-only", {4, 8});
  Costs costs = costsOf(forwards, 0.1);
  scaleRank(costs, forwards, 1, 1.2);
  const RunDiff diff = diffOfRuns(usual(1), noisyRun(forwards, costs, 20, 2));
  EXPECT_EQ(diffVerdict(diff), "not_comparable");
  EXPECT_THAT(diff.parts, IsEmpty());
  EXPECT_THAT(diffAnswer(diff),
              AllOf(StartsWith("steps cannot be compared: "),
                    HasSubstr("; of what both runs have, stage 1's forwards take ")));
}

TEST(RunDiff, PausesBetweenStepsCountInTheVerdictAndOnce) {
  const auto paused = [](Timeline run) {
    for (Track& track : run.tracks) {
      for (Event& event : track.events) {
        event.begin += event.step * 30 * kNsPerMs;
        event.end += event.step * 30 * kNsPerMs;
      }
    }
    return run;
  };
  const RunDiff diff = diffOfRuns(usual(1), paused(usual(1)));
  EXPECT_EQ(diff.step.difference(), 0);
  ASSERT_TRUE(diff.wall);
  EXPECT_EQ(diff.wall->difference(), 30 * kNsPerMs);
  EXPECT_EQ(diff.wall->b, diff.step.b + diff.between->b);
  EXPECT_EQ(diffVerdict(diff), "slower");
  EXPECT_THAT(diffAnswer(diff),
              AllOf(StartsWith("B's steps take 30.00 ms more (+"),
                    HasSubstr(": more time passes between steps (30.10 ms instead of 100.0 us) "
                              "(+30.00 ms)")));
  EXPECT_TRUE(diff.isSlower());
  Nanoseconds reasons = 0;
  for (const DiffReason& each : reasonsOf(diff)) reasons += each.time;
  EXPECT_EQ(reasons, diff.wall->difference());
}

/// Two pipelines of one rank each. In B one of them loads data for 40 ms before each step, and the
/// other one waits for it inside its forward, as in an all-gather.
Timeline replicasOf(bool loads) {
  HandMadeTimeline made;
  for (const int rank : {0, 1}) {
    made.timeline.ranks[rank] = {.rank = rank, .dataParallelIndex = rank};
    for (std::int32_t step = 0; step < 8; ++step) {
      const Nanoseconds begin = step * (loads ? 140 : 100) * kNsPerMs;
      const Nanoseconds work = begin + (loads ? 40 : 0) * kNsPerMs;
      if (loads && rank == 1) made.add(rank, JobKind::kData, begin, work, step, -1);
      const Nanoseconds from = rank == 0 ? begin : work;
      made.add(rank, JobKind::kForward, from, work + 30 * kNsPerMs, step).stage = 0;
      made.add(rank, JobKind::kBackward, work + 30 * kNsPerMs, work + 100 * kNsPerMs, step).stage =
          0;
    }
  }
  made.timeline.sort();
  return made.timeline;
}

TEST(RunDiff, AStallThatOnePipelineHasInAStepAndOneBetweenStepsCountsOnce) {
  const RunDiff diff = diffOfRuns(replicasOf(false), replicasOf(true));
  ASSERT_TRUE(diff.wall);
  EXPECT_EQ(diff.wall->a, 100 * kNsPerMs);
  EXPECT_EQ(diff.wall->b, 140 * kNsPerMs);
  EXPECT_EQ(diff.step.difference(), 20 * kNsPerMs) << "40 of one rank of two";
  EXPECT_EQ(diff.between->difference(), 20 * kNsPerMs);
  EXPECT_EQ(diff.loads->difference(), 20 * kNsPerMs);
  EXPECT_THAT(diffAnswer(diff), HasSubstr("data loaders take 20.00 ms instead of 0 ns between "
                                          "steps (+20.00 ms)"));
}

TEST(RunDiff, SaysThatWaitsInsideJobsAreComparedWithThem) {
  HybridRun a;
  HybridRun b;
  b.kernel = [](const HybridRun::Kernel& kernel, Nanoseconds length) {
    return kernel.rank == 1 ? length * 5 / 4 : length;
  };
  EXPECT_THAT(diffText({diffOfRuns(a.timeline(), b.timeline()), "a", "b"}),
              HasSubstr("both runs have ranks that wait for each other inside jobs"));
  EXPECT_THAT(diffText({diffOfRuns(usual(1), usual(2)), "a", "b"}), Not(HasSubstr("inside jobs")));
}

}  // namespace
}  // namespace pipetrace
