// Findings, critical paths and efficiencies of runs with known faults.
#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>
#include <ostream>
#include <string>
#include <vector>

#include "analysis/present/finding_sentences.h"
#include "analysis/run/graph/job_name.h"
#include "analysis/testing/explained_run.h"
#include "analysis/testing/faulty_run.h"
#include "analysis/testing/hand_made_timeline.h"

namespace pipetrace {
namespace {

using test::completedRun;
using test::costsOf;
using testing::HasSubstr;
using testing::IsEmpty;

/// A fault, and what the finding about it must say.
struct Fault {
  std::string name;
  int slowRank = -1;
  std::vector<Faults::Link> links;
  std::vector<Faults::Job> jobs;
  BubbleClass bubbleClass = BubbleClass::kUnknown;
  int rank = -1;
  int peer = -1;
  std::string text;
};
void PrintTo(const Fault& fault, std::ostream* out) { *out << fault.name; }

const Fault kSlowStage{"slow_stage",
                       2,
                       {},
                       {},
                       BubbleClass::kImbalance,
                       2,
                       -1,
                       "stage 2 (rank 2) takes 1.30 times as long"};
const Fault kSlowLink{
    "slow_link",
    -1,
    {{1, 2, 4 * kNsPerMs}},
    {},
    BubbleClass::kTransfer,
    1,
    2,
    "messages between ranks 1 and 2 take 4.000 ms (median; other links 100.0 us)"};
const Fault kLongJob{"long_job",
                     -1,
                     {},
                     {{{JobKind::kForward, 1, 4}, 1, 30 * kNsPerMs, 0}},
                     BubbleClass::kPeerWait,
                     1,
                     -1,
                     "1F4 of rank 1 takes 40.00 ms in step 1 (median 10.00 ms)"};
const Fault kLateLaunch{"late_launch",
                        -1,
                        {},
                        {{{JobKind::kForward, 2, 5}, Faults::kEveryStep, 0, 15 * kNsPerMs}},
                        BubbleClass::kLateStart,
                        2,
                        -1,
                        "rank 2 begins 2F5 later than its inputs are there"};

Timeline runWith(const std::vector<Fault>& faults, const std::string& schedule = "1F1B") {
  const Plan plan = buildSchedule(schedule, {4, 8});
  Costs costs = costsOf(plan, 0.1);
  for (const Fault& fault : faults) {
    if (fault.slowRank >= 0) test::scaleRank(costs, plan, fault.slowRank, 1.3);
    costs.faults.links.insert(costs.faults.links.end(), fault.links.begin(), fault.links.end());
    costs.faults.jobs.insert(costs.faults.jobs.end(), fault.jobs.begin(), fault.jobs.end());
  }
  return completedRun(plan, costs);
}

void expectNames(const Finding& finding, const Fault& fault) {
  EXPECT_EQ(finding.bubbleClass, fault.bubbleClass);
  EXPECT_EQ(finding.culprit.rank, fault.rank);
  EXPECT_EQ(finding.culprit.peer, fault.peer);
  EXPECT_THAT(findingText(finding), HasSubstr(fault.text));
}

class OneFault : public testing::TestWithParam<Fault> {};

TEST_P(OneFault, IsNamedFirstWithItsCulpritAndItsShare) {
  const Timeline timeline = runWith({GetParam()});
  const auto run = explainRun(timeline, {});
  ASSERT_FALSE(run.findings.empty());
  expectNames(run.findings[0], GetParam());
  Nanoseconds idle = 0;
  Nanoseconds ofClass = 0;
  for (const ExplainedRank& rank : run.ranks) {
    idle += rank.idle;
    ofClass += rank.bubbles[static_cast<std::size_t>(GetParam().bubbleClass)];
  }
  EXPECT_NEAR(run.findings[0].share, static_cast<double>(ofClass) / static_cast<double>(idle),
              0.05 * run.findings[0].share);
}

INSTANTIATE_TEST_SUITE_P(All, OneFault,
                         testing::Values(kSlowStage, kSlowLink, kLongJob, kLateLaunch),
                         [](const auto& test) { return test.param.name; });

TEST(TwoFaults, AreNamedFirstAndSecond) {
  const std::vector<Fault> all = {kSlowStage, kSlowLink, kLongJob, kLateLaunch};
  for (std::size_t a = 0; a < all.size(); ++a) {
    for (std::size_t b = a + 1; b < all.size(); ++b) {
      SCOPED_TRACE(all[a].name + " and " + all[b].name);
      const Timeline timeline = runWith({all[a], all[b]});
      const auto run = explainRun(timeline, {});
      ASSERT_GE(run.findings.size(), 2U);
      const bool isFirst = run.findings[0].bubbleClass == all[a].bubbleClass;
      EXPECT_EQ(run.findings[0].bubbleClass, isFirst ? all[a].bubbleClass : all[b].bubbleClass);
      EXPECT_EQ(run.findings[1].bubbleClass, isFirst ? all[b].bubbleClass : all[a].bubbleClass);
      EXPECT_EQ(run.findings[0].culprit.rank, isFirst ? all[a].rank : all[b].rank);
      EXPECT_EQ(run.findings[1].culprit.rank, isFirst ? all[b].rank : all[a].rank);
    }
  }
}

TEST(ExplanationTest, SoundRunHasNoCulpritWorthAWarning) {
  const Plan plan = buildSchedule("1F1B", {4, 8});
  const Timeline timeline = completedRun(plan, costsOf(plan, 0));
  const auto run = explainRun(timeline, {});
  for (const Finding& finding : run.findings) {
    EXPECT_EQ(finding.severity, Severity::kNote) << findingText(finding);
    EXPECT_EQ(finding.culprit.job, JobGraph::kNone) << findingText(finding);
  }
}

TEST(ExplanationTest, EfficienciesMultiplyAndFollowTheirClosedForms) {
  const Plan plan = buildSchedule("1F1B", {4, 8});
  Costs costs = costsOf(plan, 0);
  costs.lr = costs.optimizer = 0;
  const Timeline timeline = completedRun(plan, costs);
  const auto run = explainRun(timeline, {});
  ASSERT_EQ(run.steps.size(), 3U);
  for (const ExplainedStep& step : run.steps) {
    EXPECT_DOUBLE_EQ(step.efficiency.parallel, 8.0 / 11) << "m / (m + p - 1)";
    EXPECT_DOUBLE_EQ(step.efficiency.loadBalance, 1);
    EXPECT_DOUBLE_EQ(step.efficiency.communication, 8.0 / 11);
    EXPECT_DOUBLE_EQ(step.efficiency.schedule, 1);
    EXPECT_EQ(step.efficiency.planned, 11 * 30 * kNsPerMs);
  }
}

/// In doubles, (1 - 2 / 6) / (2 / 3) is above 1.
TEST(ExplanationTest, LoadBalanceNeverExceedsOne) {
  HandMadeTimeline made;
  made.add(0, JobKind::kForward, 0, 2, 0, 0).stage = 0;
  made.add(1, JobKind::kForward, 1, 3, 0, 0).stage = 1;
  made.timeline.sort();
  const auto run = explainRun(made.timeline, {});
  EXPECT_LE(run.steps.at(0).efficiency.loadBalance, 1);
  EXPECT_DOUBLE_EQ(run.steps.at(0).efficiency.loadBalance, 1);
}

/// A message of 5 ms counts at both ends. Each step has 8 of them.
TEST(ExplanationTest, CommunicationIsThatOfTheStepsThatCount) {
  const Plan plan = buildSchedule("1F1B", {2, 4});
  const Timeline timeline = completedRun(plan, costsOf(plan, 5), 5);
  const Nanoseconds ofStep = 2 * 8 * 5 * kNsPerMs;
  EXPECT_EQ(explainRun(timeline, {.steps = {{1, 2}}}).communication.all, ofStep);
  EXPECT_EQ(explainRun(timeline, {.steps = {{1, 4}}}).communication.all, 3 * ofStep);
  EXPECT_EQ(explainRun(timeline, {}).communication.all, 5 * ofStep);
}

TEST(ExplanationTest, CriticalPathAddsUpToItsSteps) {
  const Timeline timeline = runWith({kSlowStage, kSlowLink});
  const auto run = explainRun(timeline, {});
  Nanoseconds all = 0;
  for (const auto& [kind, time] : run.pathShares.byKind) all += time;
  Nanoseconds steps = 0;
  for (const ExplainedStep& step : run.steps) {
    if (step.isCounted) steps += step.summary.window();
  }
  EXPECT_EQ(all, steps);
  // Stage 2 is hardly idle between its first forward and its last backward.
  EXPECT_GT(run.pathShares.byStage.at(2), all / 2);
  EXPECT_FALSE(run.pathShares.byKind.contains("before"));
  Nanoseconds stages = 0;
  for (const auto& [stage, time] : run.pathShares.byStage) stages += time;
  EXPECT_EQ(stages, run.pathShares.byKind.at("forward") + run.pathShares.byKind.at("backward"));
  Nanoseconds end = run.longestStep.links.front().begin;
  for (const StepPath::Link& link : run.longestStep.links) {
    EXPECT_EQ(link.begin, end + link.wait);
    end = link.end;
  }
}

TEST(ExplanationTest, LogsOrTheUserGiveTokensAndOperations) {
  const Plan plan = buildSchedule("1F1B", {2, 4});
  Timeline timeline = completedRun(plan, costsOf(plan, 0), 4);
  EXPECT_FALSE(explainRun(timeline, {}).tokensPerSecond.has_value());
  timeline.ranks.at(0).tokensPerStep = 1000;
  const auto run = explainRun(timeline, {.flopsPerStep = 1e12, .peakFlops = 1e13});
  double seconds = 0;
  for (const ExplainedStep& step : run.steps) {
    if (!step.isCounted || !step.summary.isFollowed)
      continue;  // what the last one takes is unknown
    seconds += static_cast<double>(step.summary.window() + step.summary.betweenSteps) / 1e9;
  }
  ASSERT_TRUE(run.tokensPerSecond.has_value());
  EXPECT_DOUBLE_EQ(*run.tokensPerSecond, 3 * 1000 / seconds);
  ASSERT_TRUE(run.modelFlopsUtilization.has_value());
  EXPECT_DOUBLE_EQ(*run.modelFlopsUtilization, 3 * 1e12 / seconds / 2e13);
  timeline.ranks.at(1).flopsPerStep = 5e12;
  EXPECT_DOUBLE_EQ(explainRun(timeline, {.peakFlops = 1e13}).modelFlopsUtilization.value(),
                   3 * 5e12 / seconds / 2e13);
}

// While the pipeline is full, the first stage has a forward and a backward for each micro-batch,
// one after the other; updates take a nanosecond.
TEST(ExplanationTest, TokensOfAnAsynchronousRunAreThoseOfTheStepsInItsWindow) {
  const Plan plan = buildSchedule("PipeDream", {4, 8});
  Costs costs = costsOf(plan, 0);
  costs.lr = 0;
  costs.optimizer = 1;
  Timeline timeline = simulate(CheckedPlan(plan), costs, {.steps = 5}).timeline;
  Diagnostics diagnostics;
  completeTimeline(timeline, diagnostics);
  const auto run = explainRun(timeline, {.tokensPerStep = 1000});
  ASSERT_EQ(run.steps.size(), 1U);
  EXPECT_NEAR(run.tokensPerSecond.value(), 36 / 8.0 * 1000 / (4 * 0.330 + 0.220 - 0.100), 0.01);
}

TEST(ExplanationTest, StepsThatAreAskedForCountInAllNumbers) {
  const Plan plan = buildSchedule("1F1B", {2, 4});
  const Timeline timeline = completedRun(plan, costsOf(plan, 0), 4);
  EXPECT_THAT(explainRun(timeline, {}).slowdown.steps, testing::ElementsAre(0, 1, 2, 3));
  const auto run = explainRun(timeline, {.steps = {{0, 1}, {3, 4}}});
  EXPECT_THAT(run.slowdown.steps, testing::ElementsAre(0, 3));
  std::vector<bool> counted;
  for (const ExplainedStep& step : run.steps) counted.push_back(step.isCounted);
  EXPECT_THAT(counted, testing::ElementsAre(true, false, false, true));
}

TEST(ExplanationTest, OneJobHasNoIdleTime) {
  HandMadeTimeline made;
  made.add(0, JobKind::kForward, 0, 10, 0, 0).stage = 0;
  made.timeline.sort();
  const auto run = explainRun(made.timeline, {});
  EXPECT_THAT(run.findings, IsEmpty());
  ASSERT_EQ(run.steps.size(), 1U);
  EXPECT_TRUE(run.steps[0].isCounted);
  EXPECT_EQ(run.ranks[0].idle, 0);
}

TEST(ExplanationTest, ThePathSaysUnknownWhereARankIsMissing) {
  const Plan plan = buildSchedule("1F1B", {4, 8});
  Timeline timeline = completedRun(plan, costsOf(plan, 0.1));
  std::erase_if(timeline.tracks, [](const Track& track) { return track.rank == 2; });
  const auto run = explainRun(timeline, {});
  // Nothing was launched late; what rank 3 waited for is not in the run.
  EXPECT_GT(run.pathShares.byKind.at("unknown"), 0);
  EXPECT_FALSE(run.pathShares.byKind.contains("late_start"));
}

TEST(ExplanationTest, StepThatIsCutOffHasOnlySyncAndUnknown) {
  const Plan plan = buildSchedule("1F1B", {4, 8});
  Timeline timeline = completedRun(plan, costsOf(plan, 0.1), 4);
  for (Track& track : timeline.tracks) {
    std::erase_if(track.events,
                  [](const Event& event) { return event.step == 3 && event.microBatch > 4; });
  }
  const auto run = explainRun(timeline, {});
  EXPECT_FALSE(run.steps.back().isWhole);
  for (const auto& bubbles : run.bubbles.byRank) {
    for (const Bubble& bubble : bubbles) {
      if (bubble.step != 3) continue;
      EXPECT_TRUE(bubble.bubbleClass == BubbleClass::kSync ||
                  bubble.bubbleClass == BubbleClass::kUnknown)
          << bubbleClassName(bubble.bubbleClass);
    }
  }
}

TEST(ExplanationTest, JobsWithoutMicroBatchesAreCounted) {
  const Timeline given = runWith({kSlowStage});
  Timeline counted = given;
  for (Track& track : counted.tracks) {
    if (track.lane != kComputeLane) continue;
    for (Event& event : track.events) event.microBatch = kNotGiven;
  }
  const auto expected = explainRun(given, {});
  const auto run = explainRun(counted, {});
  EXPECT_EQ(run.graph->countedMicroBatches(), 4 * 16 * 3);
  for (std::size_t r = 0; r < 4; ++r) EXPECT_EQ(run.ranks[r].bubbles, expected.ranks[r].bubbles);
  const auto isTheLast = [&](const JobGraph::Node& job) {
    return job.kind == JobKind::kForward && job.stage == 2 && job.microBatch == 7;
  };
  const auto nodes = run.graph->nodes();
  const auto job = std::find_if(nodes.begin(), nodes.end(), isTheLast);
  ASSERT_NE(job, nodes.end());
  EXPECT_EQ(jobName(counted, *job), "2F7");
}

TEST(ExplanationTest, CulpritsOfALongRunAreThoseOfAllSteps) {
  const Plan plan = buildSchedule("1F1B", {2, 64});
  Costs costs = costsOf(plan, 0.1);
  test::scaleRank(costs, plan, 1, 1.3);
  const Timeline timeline = completedRun(plan, costs, 40);
  const auto run = explainRun(timeline, {});
  ASSERT_GT(run.graph->jobCount(), 10'000U);
  Nanoseconds blamed = 0;
  for (const auto& bubbles : run.bubbles.byRank) {
    for (const Bubble& bubble : bubbles) {
      if (bubble.culprit != JobGraph::kNone) blamed += bubble.end - bubble.begin;
    }
  }
  Nanoseconds listed = 0;
  for (const auto& [ranks, time] : run.culprits.byRanks) listed += time;
  EXPECT_GT(blamed, 0);
  EXPECT_EQ(listed, blamed);
}

TEST(ExplanationTest, ThreadsMakeNoDifference) {
  const Timeline timeline = runWith({kSlowStage, kLateLaunch}, "Interleaved1F1B");
  const auto one = explainRun(timeline, {}, 1);
  const auto four = explainRun(timeline, {}, 4);
  ASSERT_EQ(one.findings.size(), four.findings.size());
  for (std::size_t i = 0; i < one.findings.size(); ++i) {
    EXPECT_EQ(findingText(one.findings[i]), findingText(four.findings[i]));
  }
  for (std::size_t r = 0; r < 4; ++r) EXPECT_EQ(one.ranks[r].bubbles, four.ranks[r].bubbles);
}

TEST(ExplanationTest, CriticalPathsStayTheSameWithoutTheTablesOfTheBasis) {
  const Plan plan = buildSchedule("1F1B", {4, 8});
  Costs costs = costsOf(plan, 1);
  costs.faults.links = kSlowLink.links;
  costs.faults.jobs = kLongJob.jobs;
  const Timeline run = completedRun(plan, costs);
  const auto explanation = explainRun(run, {});
  const PipelineBasis& pipeline = explanation.basis->pipelines().front();
  std::vector<StepPath> paths;
  for (const BubbleWindow& window : pipeline.windows) {
    paths.push_back(criticalPathOf(*explanation.basis, pipeline, window));
  }
  explanation.own->freeTables();
  ASSERT_EQ(paths.size(), 3U);
  for (std::size_t w = 0; w < paths.size(); ++w) {
    const StepPath later = criticalPathOf(*explanation.basis, pipeline, pipeline.windows[w]);
    ASSERT_EQ(later.links.size(), paths[w].links.size());
    for (std::size_t i = 0; i < later.links.size(); ++i) {
      EXPECT_EQ(later.links[i].node, paths[w].links[i].node);
      EXPECT_EQ(later.links[i].wait, paths[w].links[i].wait);
      EXPECT_EQ(later.links[i].cause, paths[w].links[i].cause);
    }
  }
}

}  // namespace
}  // namespace pipetrace
