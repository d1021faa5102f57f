#include "analysis/causes/inside_times.h"

#include <gmock/gmock.h>

#include <cmath>

#include "analysis/testing/explained_run.h"
#include "analysis/testing/hybrid_run.h"

namespace pipetrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

/// Two stages of two tensor-parallel ranks; rank 1 takes 1.25 times as long as rank 0. So rank 0
/// waits 1.25 ms for each layer of a forward, and 2.5 ms for one of a backward.
HybridRun runWithSlowRank() {
  HybridRun run;
  run.kernel = [](const HybridRun::Kernel& kernel, Nanoseconds usual) {
    return kernel.rank == 1 ? usual * 5 / 4 : usual;
  };
  return run;
}

constexpr Nanoseconds kWaitOfForward = 2500 * kNsPerUs;

TEST(InsideTimesTest, OfRanksAreOfTheStepsThatCountAndOfEachUse) {
  HybridRun made = runWithSlowRank();
  const auto run = explainRun(made.timeline(), {});
  const std::vector<InsideTimes> times = insideTimesOf(run.own->graph(), {});
  const Nanoseconds jobs = made.steps * made.microBatches * made.layers;
  const InsideTimes& peer = times.at(0);
  EXPECT_EQ(peer.rank, 0);
  EXPECT_EQ(peer.jobs, made.steps * made.microBatches * 2);
  EXPECT_EQ(peer.parts.own, jobs * 3 * made.layer);
  EXPECT_EQ(peer.parts.waiting, made.microBatches * made.steps * 3 * kWaitOfForward);
  EXPECT_EQ(peer.parts.moving, jobs * 2 * made.moving);
  EXPECT_EQ(peer.parts.launchBound, 0);
  ASSERT_THAT(peer.groups, SizeIs(1));
  EXPECT_EQ(peer.groups[0].use, "tensor-parallel");
  EXPECT_EQ(peer.groups[0].kind, JobKind::kAllReduce);
  EXPECT_EQ(peer.groups[0].waiting, peer.parts.waiting);
  EXPECT_EQ(peer.groups[0].moving, peer.parts.moving);
  EXPECT_EQ(times.at(1).parts.waiting, 0);
  const CountedSteps one({{0, 1}}, {});
  EXPECT_EQ(insideTimesOf(run.own->graph(), one).at(0).parts.waiting, made.waits.at(0)[0]);
}

TEST(InsideTimesTest, OfAStepAreItsPartOfTheRun) {
  HybridRun made = runWithSlowRank();
  const auto run = explainRun(made.timeline(), {});
  const StepSummary& step = run.steps.at(1).summary;
  const InsideTimes times = insideTimesIn(run.own->graph(), 0, {step.begin, step.windowEnd});
  EXPECT_EQ(times.steps, 1);
  EXPECT_EQ(times.jobs, made.microBatches * 2);
  EXPECT_EQ(times.parts.own, made.microBatches * made.layers * 3 * made.layer);
  EXPECT_EQ(times.parts.waiting, made.waits.at(0)[1]);
}

TEST(InsideTimesTest, OfAJobThatIsCutOffAddUpToWhatIsThereToTheNanosecond) {
  HybridRun made = runWithSlowRank();
  made.replicas = 2;
  made.sharesWeights = true;
  const auto run = explainRun(made.timeline(), {});
  const JobGraph& graph = run.own->graph();
  const JobGraph::Node& job = graph.node(graph.ranks()[0].first);
  ASSERT_EQ(job.kind, JobKind::kForward);
  for (const Nanoseconds length : {Nanoseconds{1}, Nanoseconds{7'654'321}, job.end - job.begin}) {
    const InsideTimes times = insideTimesIn(graph, 0, {job.begin, job.begin + length});
    EXPECT_EQ(times.jobs, 1);
    EXPECT_EQ(times.parts.total(), length);
    Nanoseconds waiting = 0;
    Nanoseconds moving = 0;
    for (const auto& each : times.groups) {
      waiting += each.waiting;
      moving += each.moving;
    }
    EXPECT_EQ(waiting, times.parts.waiting);
    EXPECT_EQ(moving, times.parts.moving);
    const double share = static_cast<double>(length) / static_cast<double>(job.end - job.begin);
    const auto own = static_cast<double>(made.layers * made.layer);
    EXPECT_NEAR(static_cast<double>(times.parts.own), own * share, 1);
  }
  EXPECT_EQ(insideTimesIn(graph, 0, {job.begin - 5, job.begin}).jobs, 0);
}

TEST(InsideTimesTest, OfSeveralRanksAddUpByKindOfGroup) {
  HybridRun made = runWithSlowRank();
  made.replicas = 2;
  made.sharesWeights = true;
  const auto run = explainRun(made.timeline(), {});
  const std::vector<InsideTimes> times = insideTimesOf(run.own->graph(), {});
  EXPECT_THAT(groupsOf(times), ElementsAre(Pair("data-parallel", JobKind::kAllGather),
                                           Pair("data-parallel", JobKind::kReduceScatter),
                                           Pair("tensor-parallel", JobKind::kAllReduce)));
  InsideTimes all;
  InsideJobs::Parts parts;
  Nanoseconds gathers = 0;
  for (const InsideTimes& each : times) {
    all.add(each);
    parts.moving += each.parts.moving;
    gathers += each.of("data-parallel", JobKind::kAllGather)->moving;
  }
  EXPECT_EQ(all.parts.moving, parts.moving);
  EXPECT_EQ(all.of("data-parallel", JobKind::kAllGather)->moving, gathers);
  EXPECT_EQ(groupsOf(std::vector{all}), groupsOf(times));
}

TEST(LongestWaitTest, IsInTheJobThatWaitedMostAtThatPlaceInThatMicroBatchOrStep) {
  HybridRun made = runWithSlowRank();
  made.kernel = [](const HybridRun::Kernel& kernel, Nanoseconds usual) {
    const bool isLong = kernel.microBatch == 2 && kernel.step == 1 && kernel.layer == 1;
    if (kernel.rank != 1) return usual;
    return isLong ? usual * 3 : usual * 5 / 4;
  };
  const auto run = explainRun(made.timeline(), {});
  const JobGraph& graph = run.own->graph();
  const auto waits = [&](int rank, WaitsBy by, WaitsKey key) {
    return longestWait(graph, {}, rank, by, key);
  };
  const auto isIt = [&](JobGraph::Id job, JobKind kind) {
    ASSERT_NE(job, JobGraph::kNone);
    EXPECT_EQ(graph.ranks()[graph.node(job).rank].number, 0);
    EXPECT_EQ(graph.node(job).kind, kind);
    EXPECT_EQ(graph.node(job).microBatch, 2);
    EXPECT_EQ(graph.node(job).step, 1);
  };
  isIt(waits(0, WaitsBy::kPlace, {JobKind::kForward, 1}), JobKind::kForward);
  isIt(waits(0, WaitsBy::kMicroBatch, {.number = 2}), JobKind::kBackward);
  isIt(waits(0, WaitsBy::kStep, {.number = 1}), JobKind::kBackward);
  EXPECT_EQ(waits(1, WaitsBy::kStep, {.number = 1}), JobGraph::kNone) << "it is the last one";
  EXPECT_EQ(waits(0, WaitsBy::kPlace, {JobKind::kForward, 7}), JobGraph::kNone);
}

TEST(InsideTimesTest, OfARunWithoutSuchCollectivesAreNone) {
  HybridRun made;
  made.tensor = 1;
  const auto run = explainRun(made.timeline(), {});
  EXPECT_THAT(insideTimesOf(run.own->graph(), {}), IsEmpty());
}

}  // namespace
}  // namespace pipetrace
