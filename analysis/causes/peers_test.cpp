// Small hybrid runs, played by rules of their own (HybridRun): who is to blame for what ranks wait
// inside their jobs.
#include "analysis/causes/peers.h"

#include <gmock/gmock.h>

#include <cmath>
#include <random>
#include <set>
#include <vector>

#include "analysis/causes/inside_times.h"
#include "analysis/present/finding_sentences.h"
#include "analysis/run/steps/counted_steps.h"
#include "analysis/testing/explained_run.h"
#include "analysis/testing/hybrid_run.h"

namespace pipetrace {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

Nanoseconds times(Nanoseconds time, double factor) {
  return std::llround(static_cast<double>(time) * factor);
}

/// A number that is the same for each kernel of a rank's micro-batch and layer, forward or
/// backward.
double drawnFor(const HybridRun::Kernel& kernel, bool isAlikeInBothPasses) {
  std::seed_seq seeds{kernel.rank % 4, kernel.stage,
                      kernel.step,     kernel.microBatch,
                      kernel.layer,    !isAlikeInBothPasses && kernel.isForward ? 1 : 0};
  std::mt19937 random(seeds);
  random.discard(8);
  return static_cast<double>(random() % 1'000'000) / 1e6;
}

std::string textsOf(const Explanation& run) {
  std::string texts;
  for (const Finding& finding : run.findings) texts += findingText(finding) + "\n";
  return texts;
}

/// The kinds of findings that are not minor and blame somebody.
std::vector<FindingKind> blamingKinds(const Explanation& run) {
  std::vector<FindingKind> kinds;
  for (const Finding& finding : run.findings) {
    const bool isOfNobody =
        finding.kind == FindingKind::kSchedule || finding.kind == FindingKind::kMessages ||
        finding.kind == FindingKind::kOptimizers ||
        finding.kind == FindingKind::kOptimizersAndCollectives ||
        finding.kind == FindingKind::kPauses || finding.kind == FindingKind::kPeersVary ||
        finding.kind == FindingKind::kUnevenMoving ||
        finding.kind == FindingKind::kExposedCollectives ||
        finding.kind == FindingKind::kContention;
    if (!isOfNobody && !finding.isMinor) kinds.push_back(finding.kind);
  }
  return kinds;
}

void expectWaits(const HybridRun& made, const RunOfExplanation& run) {
  const std::vector<InsideTimes> times = insideTimesOf(run.own->graph(), {});
  ASSERT_EQ(times.size(), static_cast<std::size_t>(made.rankCount()));
  for (const InsideTimes& of : times) {
    Nanoseconds waits = 0;
    for (const Nanoseconds wait : made.waits.at(of.rank)) waits += wait;
    EXPECT_EQ(of.parts.waiting, waits) << "rank " << of.rank;
    EXPECT_EQ(of.steps, made.steps);
  }
}

HybridRun runWithSlowRank(int slow, double factor) {
  HybridRun run;
  run.tensor = 4;
  run.stages = 3;
  run.microBatches = 6;
  run.kernel = [=](const HybridRun::Kernel& kernel, Nanoseconds usual) {
    return kernel.rank == slow ? times(usual, factor) : usual;
  };
  return run;
}

TEST(RanksThatMeet, ARankThatIsSlowBehindCollectivesIsNamedAndItsStageIsNot) {
  HybridRun made = runWithSlowRank(6, 1.25);
  const auto run = explainRun(made.timeline(), {});
  expectWaits(made, run);
  ASSERT_THAT(blamingKinds(run), testing::ElementsAre(FindingKind::kSlowRank)) << textsOf(run);
  const Finding& first = run.findings.at(0);
  ASSERT_EQ(first.kind, FindingKind::kSlowRank) << textsOf(run);
  ASSERT_THAT(first.ranks, SizeIs(1));
  EXPECT_EQ(first.ranks[0].first, 6);
  const auto* facts = first.factsOf<SlowerRanks::Rank>();
  ASSERT_NE(facts, nullptr);
  EXPECT_NEAR(facts->factor, 1.25, 1e-6);
  EXPECT_EQ(facts->standardError, 0);
  EXPECT_THAT(facts->stages, testing::ElementsAre(1));
  // What its peers wait inside is no idle time.
  Nanoseconds waits = 0;
  for (const auto& [rank, ofSteps] : made.waits) {
    for (const Nanoseconds wait : ofSteps) waits += wait;
  }
  EXPECT_LE(first.inside, waits);
  EXPECT_GE(first.inside, waits / 100 * 95) << "messages have the rest";
  EXPECT_THAT(findingText(first), HasSubstr(" inside jobs"));
}

TEST(RanksThatMeet, AStageWhoseRanksAreAllSlowIsNamedAndNoRankIs) {
  HybridRun made = runWithSlowRank(-1, 1);
  made.kernel = [](const HybridRun::Kernel& kernel, Nanoseconds usual) {
    return kernel.stage == 1 ? times(usual, 1.3) : usual;
  };
  const auto run = explainRun(made.timeline(), {});
  ASSERT_THAT(blamingKinds(run), testing::ElementsAre(FindingKind::kSlowStages)) << textsOf(run);
  EXPECT_THAT(run.findings.at(0).stages, testing::ElementsAre(1));
  EXPECT_NEAR(run.findings.at(0).factsOf<StagesBesideOthers>()->all.times, 1.3, 1e-6);
}

TEST(RanksThatMeet, UnevenLoadIsNamedWithoutARank) {
  HybridRun made = runWithSlowRank(-1, 1);
  made.microBatches = 8;
  made.kernel = [](const HybridRun::Kernel& kernel, Nanoseconds usual) {
    return times(usual, 0.6 + 0.8 * drawnFor(kernel, true));
  };
  const auto run = explainRun(made.timeline(), {});
  expectWaits(made, run);
  const Finding& first = run.findings.at(0);
  ASSERT_EQ(first.kind, FindingKind::kUnevenLoad) << textsOf(run);
  EXPECT_THAT(findingText(first), testing::Not(testing::ContainsRegex("rank [0-9]")));
  const auto* load = first.factsOf<Peers::Load>();
  ASSERT_NE(load, nullptr);
  EXPECT_GT(load->correlation, 0.99);
  EXPECT_GT(load->busiest, 1.2);
  EXPECT_THAT(blamingKinds(run), testing::Each(FindingKind::kUnevenLoad)) << textsOf(run);
}

TEST(RanksThatMeet, JitterGivesANoteAndNobodyIsToBlame) {
  HybridRun made = runWithSlowRank(-1, 1);
  made.kernel = [](const HybridRun::Kernel& kernel, Nanoseconds usual) {
    return times(usual, 0.96 + 0.08 * drawnFor(kernel, false));
  };
  const auto run = explainRun(made.timeline(), {});
  expectWaits(made, run);
  EXPECT_THAT(blamingKinds(run), IsEmpty()) << textsOf(run);
  bool isThere = false;
  for (const Finding& finding : run.findings) {
    if (finding.kind != FindingKind::kPeersVary) continue;
    isThere = true;
    EXPECT_EQ(finding.severity, Severity::kNote);
    EXPECT_THAT(findingText(finding), testing::Not(testing::ContainsRegex("ranks? [0-9]")));
  }
  EXPECT_TRUE(isThere) << textsOf(run);
  const Peers peers(run.own->graph(), {});
  EXPECT_THAT(peers.loads(), IsEmpty()) << "passes do not go together";
  EXPECT_FALSE(peers.possibleLoad());
}

TEST(RanksThatMeet, LoadThatJitterHidesIsSaidToBePossible) {
  HybridRun made = runWithSlowRank(-1, 1);
  made.microBatches = 16;
  made.kernel = [](const HybridRun::Kernel& kernel, Nanoseconds usual) {
    HybridRun::Kernel ofBatch = kernel;
    ofBatch.isForward = true;
    ofBatch.layer = 0;
    return times(usual, 0.8 + 0.3 * drawnFor(ofBatch, false) + 0.2 * drawnFor(kernel, false));
  };
  const auto run = explainRun(made.timeline(), {});
  const Peers peers(run.own->graph(), {});
  EXPECT_THAT(peers.loads(), IsEmpty());
  ASSERT_TRUE(peers.possibleLoad());
  EXPECT_GT(peers.possibleLoad()->correlation, 0.6);
  EXPECT_THAT(textsOf(run), HasSubstr("Part of it may be uneven load, as of experts: "));
}

TEST(RanksThatMeet, LoadThatDiffersFromAForwardToItsBackwardIsNotUneven) {
  HybridRun made = runWithSlowRank(-1, 1);
  made.microBatches = 8;
  made.kernel = [](const HybridRun::Kernel& kernel, Nanoseconds usual) {
    return times(usual, 0.6 + 0.8 * drawnFor(kernel, false));
  };
  const auto run = explainRun(made.timeline(), {});
  EXPECT_THAT(Peers(run.own->graph(), {}).loads(), IsEmpty());
  EXPECT_THAT(blamingKinds(run), testing::Not(testing::Contains(FindingKind::kUnevenLoad)));
  EXPECT_THAT(blamingKinds(run), testing::Not(testing::Contains(FindingKind::kSlowRank)))
      << textsOf(run);
}

TEST(RanksThatMeet, TwoOfThreeGroupsCanBeSlow) {
  HybridRun made;
  made.stages = 1;
  made.replicas = 3;
  made.movingOf = [](int rank, Nanoseconds usual) { return rank < 4 ? 5 * usual : usual; };
  const auto run = explainRun(made.timeline(), {});
  const Peers peers(run.own->graph(), {});
  ASSERT_THAT(peers.slowSets(), SizeIs(2));
  for (const Peers::SlowSet& each : peers.slowSets()) EXPECT_EQ(each.others, made.moving);
}

TEST(RanksThatMeet, AGroupWhoseCollectivesMoveSlowlyIsNamed) {
  HybridRun made;
  made.tensor = 2;
  made.replicas = 2;
  made.microBatches = 6;
  made.movingOf = [](int rank, Nanoseconds usual) { return rank < 2 ? 5 * usual : usual; };
  const auto run = explainRun(made.timeline(), {});
  ASSERT_THAT(blamingKinds(run), testing::ElementsAre(FindingKind::kSlowGroup)) << textsOf(run);
  const Finding& first = run.findings.at(0);
  const auto* slow = first.factsOf<Peers::SlowSet>();
  ASSERT_NE(slow, nullptr) << textsOf(run);
  EXPECT_THAT(slow->ranks, testing::ElementsAre(0, 1));
  EXPECT_EQ(slow->kind, JobKind::kAllReduce);
  EXPECT_EQ(slow->axis, GroupAxis::kTensor);
  EXPECT_EQ(slow->moving, 5 * made.moving);
  EXPECT_EQ(slow->others, made.moving);
  const Peers peers(run.own->graph(), {});
  ASSERT_NE(peers.slowSetOf(1), nullptr);
  EXPECT_EQ(peers.slowSetOf(2), nullptr);
}

// The other stage is the faster one by that, and does not make anybody wait.
TEST(RanksThatMeet, OfTwoStagesTheSlowGroupIsNamedAndNotTheFasterStage) {
  HybridRun made;
  made.tensor = 2;
  made.microBatches = 6;
  made.movingOf = [](int rank, Nanoseconds usual) { return rank >= 2 ? 5 * usual : usual; };
  ASSERT_EQ(made.rankCount(), 4);
  const auto run = explainRun(made.timeline(), {});
  ASSERT_THAT(blamingKinds(run), testing::ElementsAre(FindingKind::kSlowGroup)) << textsOf(run);
  EXPECT_THAT(run.findings.at(0).factsOf<Peers::SlowSet>()->ranks, testing::ElementsAre(2, 3));
}

// What a slow network adds is no time that gathers ahead would hide.
TEST(RanksThatMeet, OfASlowGroupsGathersOnlyTheUsualTimeIsExposed) {
  HybridRun made;
  made.tensor = 1;
  made.replicas = 2;
  made.sharesWeights = true;
  made.movingOf = [](int rank, Nanoseconds usual) { return rank < 2 ? 5 * usual : usual; };
  const auto run = explainRun(made.timeline(), {});
  const Peers peers(run.own->graph(), {});
  ASSERT_TRUE(peers.exposed());
  EXPECT_EQ(peers.exposed()->perStep, 3 * made.microBatches * made.moving);
  EXPECT_EQ(run.findings.at(0).kind, FindingKind::kSlowGroup) << textsOf(run);
}

TEST(RanksThatMeet, ARunWithoutAFaultHasNothingToBlame) {
  HybridRun made = runWithSlowRank(-1, 1);
  const auto run = explainRun(made.timeline(), {});
  expectWaits(made, run);
  EXPECT_THAT(blamingKinds(run), IsEmpty()) << textsOf(run);
  const Peers peers(run.own->graph(), {});
  EXPECT_THAT(peers.loads(), IsEmpty());
  EXPECT_THAT(peers.slowSets(), IsEmpty());
  EXPECT_FALSE(peers.exposed());
}

// Rank 0 waits in the first collective of the step for rank 1, of another pipeline, whose loader is
// slow.
TEST(RanksThatMeet, ALoaderOfAnotherPipelineIsToBlameForWaitsInTheFirstCollective) {
  for (const bool ofReplicas : {false, true}) {
    SCOPED_TRACE(ofReplicas ? "replicas that share weights" : "tensor-parallel ranks");
    HybridRun made;
    made.tensor = ofReplicas ? 1 : 2;
    made.replicas = ofReplicas ? 2 : 1;
    made.sharesWeights = ofReplicas;
    made.loaders[1] = 40 * kNsPerMs;
    const auto run = explainRun(made.timeline(), {});
    const Finding& first = run.findings.at(0);
    ASSERT_EQ(first.kind, FindingKind::kData) << textsOf(run);
    EXPECT_EQ(first.factsOf<BlamedJob>()->rank, 1);
    ASSERT_THAT(first.ranks, SizeIs(1));
    EXPECT_EQ(first.ranks[0].first, 1);
    EXPECT_GE(first.inside, made.steps * 35 * kNsPerMs);
    EXPECT_THAT(blamingKinds(run), testing::Each(FindingKind::kData)) << textsOf(run);
  }
}

TEST(RanksThatMeet, WeightsThatAreGatheredBeforeJobsAreExposed) {
  HybridRun made;
  made.tensor = 1;
  made.replicas = 2;
  made.sharesWeights = true;
  // What rank 0 waits for it is not exposed.
  made.kernel = [](const HybridRun::Kernel& kernel, Nanoseconds usual) {
    return kernel.rank == 1 ? times(usual, 1.1) : usual;
  };
  const auto run = explainRun(made.timeline(), {});
  const Peers peers(run.own->graph(), {});
  ASSERT_TRUE(peers.exposed());
  EXPECT_TRUE(peers.exposed()->gathers);
  EXPECT_TRUE(peers.exposed()->scatters);
  // A gather for each forward and backward, a scatter for each backward.
  EXPECT_EQ(peers.exposed()->perStep, 3 * made.microBatches * made.moving);
  EXPECT_EQ(peers.exposed()->time,
            3 * made.microBatches * made.moving * made.rankCount() * made.steps);
  EXPECT_THAT(textsOf(run), HasSubstr("gathers and scatters of weights (FSDP) hold up jobs"));
}

TEST(RanksThatMeet, GathersOfWeightsComeBehindASlowRankThatCostsLess) {
  HybridRun made;
  made.tensor = 1;
  made.replicas = 2;
  made.sharesWeights = true;
  made.moving *= 4;
  made.kernel = [](const HybridRun::Kernel& kernel, Nanoseconds usual) {
    return kernel.rank == 1 ? times(usual, 1.2) : usual;
  };
  const auto run = explainRun(made.timeline(), {});
  ASSERT_GE(run.findings.size(), 2U);
  EXPECT_EQ(run.findings[0].kind, FindingKind::kSlowRank) << textsOf(run);
  EXPECT_EQ(run.findings[1].kind, FindingKind::kExposedCollectives) << textsOf(run);
  EXPECT_LT(run.findings[0].time, run.findings[1].time);
}

/// Backwards of two replicas, 10 us each; a reduce-scatter of gradients runs beside every second
/// one, which then takes `factor` times as long.
Timeline sumsBesideBackwards(double factor, double jitter) {
  MeetingsByHand made;
  std::mt19937_64 random(3);  // NOLINT: the same run every time
  for (const int rank : {0, 1}) {
    made.timeline.ranks[rank].tensorParallelIndex = kNotGiven;
    made.timeline.ranks[rank].dataParallelIndex = rank;
    Nanoseconds at = 0;
    for (int n = 0; n < 40; ++n) {
      const double drawn = static_cast<double>(random() % 1000) / 1000 - 0.5;
      const bool isBeside = n % 2 == 1;
      const auto length =
          static_cast<Nanoseconds>(10'000 * (1 + jitter * drawn) * (isBeside ? factor : 1.0));
      made.job(rank, at, at + length, n % 10, n / 10, JobKind::kBackward);
      made.kernel(rank, at, at + length);
      if (isBeside) {
        made.meet(rank, at + 500, at + length - 500,
                  {.use = "data-parallel", .kind = JobKind::kReduceScatter});
      }
      at += length + 1'000;
    }
  }
  made.timeline.sort();
  return std::move(made.timeline);
}

TEST(JobsBesideCollectives, ThatComputeLongerSayByHowMuch) {
  const Timeline timeline = sumsBesideBackwards(1.12, 0);
  const JobGraph graph(timeline, topologyOf(timeline));
  const Peers peers(graph, {});
  ASSERT_TRUE(peers.contention());
  EXPECT_NEAR(peers.contention()->factor, 1.12, 1e-9);
  EXPECT_EQ(peers.contention()->jobs, 2 * 20);
  EXPECT_EQ(peers.contention()->time, 2 * 20 * 1'200);
  EXPECT_EQ(peers.contention()->perStep, 5 * 1'200);
  EXPECT_THAT(textsOf(explainRun(timeline, {})),
              HasSubstr("kernels of jobs take 1.12 times as long while collectives of "
                        "data-parallel ranks run beside them: 6.000 us of a rank and step, "
                        "6.000 us of a step's critical path, in 40 jobs"));
}

TEST(JobsBesideCollectives, ThatVaryByChanceSayNothing) {
  for (const auto& [factor, jitter] : {std::pair(1.0, 0.2), {1.02, 0.0}, {1.05, 0.5}}) {
    const Timeline timeline = sumsBesideBackwards(factor, jitter);
    const JobGraph graph(timeline, topologyOf(timeline));
    EXPECT_FALSE(Peers(graph, {}).contention()) << factor;
  }
}

TEST(RanksThatMeet, WaitsForARankWithoutATraceAreSaid) {
  HybridRun made = runWithSlowRank(5, 1.25);
  Timeline timeline = made.timeline();
  // Rank 0 is as fast as its peers, so nobody waits for it.
  for (const int rank : {0, 5}) {
    std::erase_if(timeline.tracks, [&](const Track& track) { return track.rank == rank; });
    timeline.ranks.erase(rank);
  }
  EXPECT_THAT(textsOf(explainRun(timeline, {})),
              HasSubstr("jobs wait inside for rank 5, which has no trace: "));
}

// The straggler study takes waits inside jobs for work.
TEST(RanksThatMeet, SlowdownIsNotKnown) {
  HybridRun made = runWithSlowRank(5, 1.25);
  const auto run = explainRun(made.timeline(), {});
  EXPECT_THAT(run.slowdown.reason, HasSubstr("ranks meet inside jobs"));
  EXPECT_EQ(run.slowdown.total, 1);
}

// Each kernel is up to a fifth longer or shorter.
/// Jobs of two stages with two ranks each: kernels of 10 us, times a factor, between launches of 5.
Timeline kernelsBetweenLaunches(const std::function<double(int rank)>& factorOf) {
  MeetingsByHand made(4);
  for (int rank = 0; rank < 4; ++rank) {
    const int stage = rank / 2;
    RankInfo& info = made.timeline.ranks[rank];
    info.numStages = 2;
    info.tensorParallelIndex = rank % 2;
    const std::string_view group = stage == 0 ? "0 1" : "2 3";
    for (int step = 0; step < 4; ++step) {
      const Nanoseconds begin = 1'000'000 * step + 100'000 * stage;
      const auto kernel = static_cast<Nanoseconds>(10'000 * factorOf(rank));
      const auto longest =
          static_cast<Nanoseconds>(10'000 * std::max(factorOf(2 * stage), factorOf(2 * stage + 1)));
      const Nanoseconds meets = begin + 5'000 + kernel;
      const Nanoseconds ends = begin + 5'000 + longest + 1'000;
      Event& job = made.job(rank, begin, ends, 0, step);
      job.stage = stage;
      made.kernel(rank, begin, begin + kernel / 2);
      made.kernel(rank, begin + kernel / 2 + 5'000, meets);
      made.meet(rank, meets, ends, {.ranks = group, .use = "tensor-parallel"});
    }
  }
  made.timeline.sort();
  return std::move(made.timeline);
}

TEST(RanksBesidePeers, TakeAsManyTimesAsLongAsTheirKernelsDo) {
  const Timeline timeline = kernelsBetweenLaunches([](int rank) { return rank == 3 ? 1.5 : 1.0; });
  const JobGraph graph(timeline, topologyOf(timeline));
  const SlowerRanks ranks(graph, {});
  EXPECT_NEAR(ranks.of(3).factor, 20.0 / 15, 1e-9) << "with launches, as jobs take";
  EXPECT_NEAR(ranks.of(3).byItself(), 1.5, 1e-9);
}

TEST(StagesBesideOthersWithMeetings, TakeAsManyTimesAsLongAsTheirKernelsDo) {
  const Timeline timeline = kernelsBetweenLaunches([](int rank) { return rank >= 2 ? 1.5 : 1.0; });
  const JobGraph graph(timeline, topologyOf(timeline));
  const SlowerStages stages(timeline, graph, MedianDurations(graph));
  const SlowerStages::Factor factor = stages.besideOthers({1});
  EXPECT_NEAR(factor.times, 20.0 / 15, 1e-9);
  EXPECT_NEAR(factor.byItself(), 1.5, 1e-9);
}

TEST(RanksBesidePeers, ADifferenceWithinItsStandardErrorIsNone) {
  const auto sixthOf = [](double more) {
    HybridRun made = runWithSlowRank(-1, 1);
    made.microBatches = 4;
    made.kernel = [=](const HybridRun::Kernel& kernel, Nanoseconds usual) {
      const double factor = 0.8 + 0.4 * drawnFor(kernel, false);
      return times(usual, kernel.rank == 6 ? factor * more : factor);
    };
    const auto run = explainRun(made.timeline(), {});
    return SlowerRanks(run.own->graph(), {}).of(6);
  };
  const SlowerRanks::Rank noisy = sixthOf(1.04);
  EXPECT_GT(noisy.standardError, 0.01);
  EXPECT_FALSE(noisy.isSlower()) << noisy.factor << " with an error of " << noisy.standardError;
  const SlowerRanks::Rank clear = sixthOf(1.4);
  EXPECT_TRUE(clear.isSlower()) << clear.factor << " with an error of " << clear.standardError;
  EXPECT_NEAR(clear.factor, 1.4, 4 * clear.standardError);
}

TEST(PausesOfHybridRuns, AfterEachStepAreMinorUpToTwoPercent) {
  for (const Nanoseconds pause : {3, 8}) {
    HybridRun made;
    made.betweenSteps = pause * kNsPerMs;
    const auto run = explainRun(made.timeline(), {});
    const auto isPause = [](const Finding& each) { return each.kind == FindingKind::kPauses; };
    const auto found = std::find_if(run.findings.begin(), run.findings.end(), isPause);
    ASSERT_NE(found, run.findings.end());
    EXPECT_GE(found->shareOfSteps, 0.01);
    EXPECT_EQ(found->isMinor, pause == 3) << found->shareOfSteps;
  }
}

}  // namespace
}  // namespace pipetrace
