// The findings of runs of which it is known what went wrong.
#include "analysis/causes/findings.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "analysis/present/finding_sentences.h"
#include "analysis/testing/explained_run.h"
#include "analysis/testing/faulty_run.h"
#include "analysis/testing/sentences_of.h"
#include "schedule/with_replicas.h"

namespace pipetrace {
namespace {

using test::completedRun;
using test::costsOf;
using test::sentencesOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

template <typename IsMoved>
void move(Timeline& timeline, Nanoseconds by, const IsMoved& isMoved) {
  for (Track& track : timeline.tracks) {
    for (Event& event : track.events) {
      if (!isMoved(track, event)) continue;
      event.begin += by;
      event.end += by;
    }
  }
}

TEST(Findings, LinksThatAreAllAlikeAreOneFinding) {
  const Plan plan = buildSchedule("1F1B", {4, 8});
  const Timeline timeline = completedRun(plan, costsOf(plan, 5));
  const auto run = explainRun(timeline, {});
  const auto isTransfer = [](const Finding& f) { return f.bubbleClass == BubbleClass::kTransfer; };
  ASSERT_EQ(std::count_if(run.findings.begin(), run.findings.end(), isTransfer), 1);
  EXPECT_THAT(findingText(run.findings[0]),
              HasSubstr("messages are on their way, on links that are all alike: transfers cost "));
  Nanoseconds all = 0;
  for (const ExplainedRank& rank : run.ranks) {
    all += rank.bubbles[static_cast<std::size_t>(BubbleClass::kTransfer)];
  }
  EXPECT_EQ(run.findings[0].time, all);
}

/// The second finding of a run in which all stages but stage 2 take 10 and 20 ms.
Finding withStageTwo(int forwardMs, int backwardMs) {
  const Plan plan = buildSchedule("1F1B", {4, 8});
  Costs costs = costsOf(plan, 0);
  costs.stages[2] = {.forward = forwardMs * kNsPerMs, .backward = backwardMs * kNsPerMs};
  return explainRun(completedRun(plan, costs), {}).findings.at(1);
}

TEST(Findings, AStageWithOneLongAndOneShortKindOfJobIsNotCalledSlow) {
  const Finding finding = withStageTwo(13, 17);
  EXPECT_THAT(findingText(finding),
              StartsWith("stage 2 (rank 2) takes as long as the median of stages, but "
                         "not with each kind of job: imbalance costs "));
  EXPECT_THAT(remedyText(finding), HasSubstr("medians by stage"));
}

TEST(Findings, AFasterStageThatWaitsIsToGetMoreLayers) {
  const Finding finding = withStageTwo(12, 17);
  EXPECT_THAT(findingText(finding),
              StartsWith("stage 2 (rank 2) takes 0.97 times as long as the median"));
  EXPECT_EQ(remedyText(finding),
            "a faster stage waits for the others: give that stage more layers");
}

/// Ranks 0 and 1 have three stages each. Those of rank 0 differ, and all that ranks wait for is
/// that they are shorter than the median of all.
TEST(Findings, OfTwoHalvesOfTheStagesTheSlowerOneIsNamed) {
  const Plan plan = buildSchedule("LoopedBFS", {2, 6, 3});
  Costs costs = costsOf(plan, 0.1);
  test::scaleRank(costs, plan, 1, 1.23);
  for (const auto& [stage, factor] : {std::pair(2, 0.97), std::pair(4, 0.94)}) {
    StageCosts& each = costs.stages[static_cast<std::size_t>(stage)];
    for (Nanoseconds* const time : {&each.forward, &each.backward}) {
      *time = std::llround(static_cast<double>(*time) * factor);
    }
  }
  const Timeline timeline = completedRun(plan, costs);
  const auto run = explainRun(timeline, {});
  const Finding& finding = run.findings.front();
  EXPECT_THAT(findingText(finding),
              StartsWith("stages 1, 3 and 5 (rank 1) take 1.27 times as long as the other stages"));
  EXPECT_THAT(whereaboutsOf(finding).ranks, ElementsAre(1));
  EXPECT_EQ(finding.culprit.rank, 1);
  for (const Finding& other : run.findings) {
    EXPECT_TRUE(&other == &finding || other.kind != FindingKind::kSlowStages);
  }
}

/// Jobs are up to 15 % shorter or longer, in the order `deviations` from a micro-batch on that
/// differs by stage and kind; those of stage 3 are 4 % longer in the median.
Timeline varyingRun(int steps) {
  const Plan plan = buildSchedule("1F1B", {4, 4});
  Costs costs = costsOf(plan, 0.1);
  for (int stage = 0; stage < 4; ++stage) {
    const double middle = stage == 3 ? 0.04 : 0;
    const double deviations[] = {-0.15, middle, middle, 0.15};
    for (int m = 0; m < 4; ++m) {
      const auto longer = [&](double ms, int from) {
        return std::llround(ms * kNsPerMs * deviations[static_cast<std::size_t>(m + from) % 4]);
      };
      costs.faults.jobs.push_back(
          {.action = {JobKind::kForward, stage, m}, .longer = longer(10, stage)});
      costs.faults.jobs.push_back(
          {.action = {JobKind::kBackward, stage, m}, .longer = longer(20, stage + 2)});
    }
  }
  return completedRun(plan, costs, steps);
}

TEST(Findings, StagesThatDifferByChanceAreJobsThatVary) {
  const auto blamed = [](const Timeline& timeline) {
    const auto run = explainRun(timeline, {});
    return std::ranges::any_of(run.findings, [](const Finding& finding) {
      return finding.kind == FindingKind::kSlowStages && finding.stages == std::vector{3};
    });
  };
  EXPECT_FALSE(blamed(varyingRun(2))) << "16 jobs: 4 % are 1.3 standard errors";
  EXPECT_TRUE(blamed(varyingRun(20))) << "160 jobs: 4 % are 4.3";
}

/// Of two ranks one waits 1.3 % of each step, so that ranks wait 0.65 % in the mean.
TEST(Findings, AreNotMinorWhereStepsWouldBeShorterByOnePercentWithoutThem) {
  const Plan plan = buildSchedule("1F1B", {2, 8});
  Costs costs = costsOf(plan, 0.1);
  test::scaleRank(costs, plan, 1, 1.016);
  const auto run = explainRun(completedRun(plan, costs), {});
  const Finding& finding = run.findings.front();
  EXPECT_THAT(findingText(finding), StartsWith("stage 1 (rank 1) takes 1.02 times as long"));
  EXPECT_LT(finding.shareOfSteps, kMinorShare);
  EXPECT_FALSE(finding.isMinor);
}

TEST(Findings, EachHasTheLongestBubblesOfItsClasses) {
  const Plan plan = buildSchedule("1F1B", {4, 8});
  Costs costs = costsOf(plan, 1);
  test::scaleRank(costs, plan, 2, 1.3);
  const Timeline timeline = completedRun(plan, costs);
  const auto run = explainRun(timeline, {});
  ASSERT_GE(run.findings.size(), 3U);
  for (const Finding& finding : run.findings) {
    std::vector<Nanoseconds> lengths;
    for (const auto& ofRank : run.bubbles.byRank) {
      for (const Bubble& bubble : ofRank) {
        const bool isOfIt =
            std::count(finding.classes.begin(), finding.classes.end(), bubble.bubbleClass) > 0;
        if (isOfIt) lengths.push_back(bubble.end - bubble.begin);
      }
    }
    std::sort(lengths.rbegin(), lengths.rend());
    lengths.resize(kMostExamples);
    std::vector<Nanoseconds> given;
    for (const Evidence& each : finding.evidence) {
      if (each.role != Evidence::Role::kBubble) continue;
      given.push_back(each.bubble.end - each.bubble.begin);
    }
    // Transfers are of one of several links that are alike.
    const bool isOfAll = finding.bubbleClass != BubbleClass::kTransfer;
    EXPECT_TRUE(!isOfAll || given == lengths) << findingText(finding);
    EXPECT_EQ(given.size(), kMostExamples);
  }
}

/// Pairs of the slow stage 2 with stage 5 of the same rank count as the stage of their forward.
TEST(Findings, SlowStageOfFusedPairsIsKnownByItsOtherJobs) {
  const Plan plan = buildSchedule("DualPipeV", {4, 8});
  Costs costs = costsOf(plan, 0);
  for (Nanoseconds* time : {&costs.stages[2].forward, &costs.stages[2].backward,
                            &costs.stages[2].backwardInput, &costs.stages[2].backwardWeight}) {
    *time = *time * 13 / 10;
  }
  const std::vector<std::string> sentences = sentencesOf(completedRun(plan, costs));
  EXPECT_THAT(sentences[0], StartsWith("stage 2 (rank 2) takes 1.30 times as long"));
  EXPECT_THAT(sentences, Not(Contains(HasSubstr("stage 5"))));
}

TEST(Findings, JobThatIsLateInOneStepOnlySaysInWhich) {
  const Plan plan = buildSchedule("1F1B", {4, 8});
  Costs costs = costsOf(plan, 0.1);
  costs.faults.jobs = {{{JobKind::kForward, 2, 5}, 1, 0, 15 * kNsPerMs}};
  const std::string text = "rank 2 begins 2F5 later than its inputs are there";
  EXPECT_THAT(sentencesOf(completedRun(plan, costs)), Contains(StartsWith(text + ", in step 1: ")));
  costs.faults.jobs[0].step = Faults::kEveryStep;
  EXPECT_THAT(sentencesOf(completedRun(plan, costs)), Contains(StartsWith(text + ": ")));
}

TEST(Findings, LinkIsComparedWithTheMedianOfTheOtherLinks) {
  const Plan two = buildSchedule("1F1B", {2, 8});
  EXPECT_THAT(sentencesOf(completedRun(two, costsOf(two, 4))),
              Contains(StartsWith("messages between ranks 0 and 1 take 4.000 ms (median): ")))
      << "there is no other link";
  const Plan four = buildSchedule("1F1B", {4, 8});
  Costs costs = costsOf(four, 0.05);
  costs.faults.links = {{0, 1, 4 * kNsPerMs}, {1, 2, 4 * kNsPerMs}};
  EXPECT_THAT(sentencesOf(completedRun(four, costs)),
              Contains(StartsWith(
                  "messages between ranks 0 and 1 take 4.000 ms (median; other links 50.00 us)")));
}

TEST(Findings, LinksWhoseMessagesAreEarlyComeFirstAndHaveNoLength) {
  const Plan plan = buildSchedule("1F1B", {4, 8});
  Costs costs = costsOf(plan, 0.1);
  costs.faults.links = {{1, 2, kNsPerMs}};
  Timeline timeline = completedRun(plan, costs);
  // Messages from rank 2 to rank 1 arrive 4 ms early.
  move(timeline, 5 * kNsPerMs, [](const Track& track, const Event&) { return track.rank >= 2; });
  const auto run = explainRun(timeline, {});
  ASSERT_FALSE(run.findings.empty());
  EXPECT_EQ(findingText(run.findings[0]),
            "messages between ranks 1 and 2 arrive before they are sent, by 4.000 ms in the "
            "median: clocks differ, so that idle time may have the wrong culprits");
  EXPECT_EQ(run.findings[0].severity, Severity::kWarning);
  for (const Finding& finding : run.findings) {
    EXPECT_THAT(findingText(finding), Not(HasSubstr(" -"))) << "no number is negative";
  }
}

TEST(Findings, IdleTimeOfTheScheduleIsOfSeveralClasses) {
  const Plan plan = buildSchedule("1F1B", {4, 8});
  Costs costs = costsOf(plan, 0);
  costs.lr = 0;
  costs.optimizer = kNsPerMs / 10;
  const auto run = explainRun(completedRun(plan, costs), {});
  // The optimizers have 0.1 ms of the 90 ms that a step leaves idle, which nobody wants to know.
  ASSERT_EQ(run.findings.size(), 2U);
  EXPECT_FALSE(run.findings[0].isMinor);
  EXPECT_TRUE(run.findings[1].isMinor);
  EXPECT_EQ(minorFindingsText(run.findings), "1 more cause costs 0.0 % of the steps' time");
  EXPECT_THAT(findingText(run.findings[0]), HasSubstr("the schedule itself leaves"));
  EXPECT_EQ(run.findings[0].bubbleClass, BubbleClass::kNone);
  EXPECT_THAT(run.findings[0].classes, ElementsAre(BubbleClass::kWarmUp, BubbleClass::kDrain));
}

void addPause(Timeline& timeline, std::int32_t after, Nanoseconds length) {
  move(timeline, length, [=](const Track&, const Event& event) { return event.step > after; });
}

TEST(Findings, PauseBetweenStepsIsAFindingOfItsOwn) {
  const Plan plan = buildSchedule("1F1B", {2, 4});
  Timeline timeline = completedRun(plan, costsOf(plan, 0), 5);
  addPause(timeline, 2, 500 * kNsPerMs);
  EXPECT_THAT(sentencesOf(timeline),
              Contains("the run stands still after step 2 for 500.1 ms (data, a checkpoint or an "
                       "evaluation between steps): pauses cost 39.7 % of all ranks' time"));
  // With one log of two, warm-up and drain may be between the steps of that rank. What is between
  // all of them is no pause.
  std::erase_if(timeline.tracks, [](const Track& track) { return track.rank == 1; });
  EXPECT_THAT(sentencesOf(timeline),
              Contains(HasSubstr("the run stands still after step 2 for 500.0 ms")));
  addPause(timeline, 0, 500 * kNsPerMs);
  addPause(timeline, 1, 500 * kNsPerMs);
  addPause(timeline, 3, 500 * kNsPerMs);
  EXPECT_THAT(sentencesOf(timeline), Not(Contains(HasSubstr("stands still"))));
}

TEST(Findings, PauseOfAllPipelinesIsOnePause) {
  const Plan plan = buildSchedule("1F1B", {2, 4});
  Timeline timeline = completedRun(plan, costsOf(plan, 0), 5);
  addPause(timeline, 1, 300 * kNsPerMs);
  addPause(timeline, 2, 500 * kNsPerMs);
  EXPECT_THAT(sentencesOf(test::twice(timeline)),
              Contains(StartsWith("the run stands still after step 2 for 500.1 ms, and after 1 "
                                  "more step: 800.2 ms in all (")));
}

/// Every rank of the second pipeline as it is but rank 2 + 4, which takes 1.3 times as long.
Timeline withSlowReplica(int steps, int firstSlow, int endOfSlow) {
  const Plan plan = buildSchedule("1F1B", {4, 8});
  Costs costs = costsOf(plan, 0.1);
  const Timeline fast = completedRun(plan, costs, steps);
  test::scaleRank(costs, plan, 2, 1.3);
  Timeline run = test::twice(fast);
  const Timeline slow = completedRun(plan, costs, steps);
  // Steps are 400 ms apart in both, so that slow and fast ones can be mixed.
  const auto place = [](Timeline timeline) {
    std::map<std::int32_t, Nanoseconds> begins;
    for (const Track& track : timeline.tracks) {
      for (const Event& event : track.events) {
        const auto [begin, isNew] = begins.try_emplace(event.step, event.begin);
        begin->second = std::min(begin->second, event.begin);
      }
    }
    for (Track& track : timeline.tracks) {
      for (Event& event : track.events) {
        const Nanoseconds by = event.step * 600 * kNsPerMs - begins.at(event.step);
        event.begin += by;
        event.end += by;
      }
    }
    return timeline;
  };
  const Timeline slowPlaced = place(slow);
  run = place(run);
  for (std::size_t t = 0; t < slowPlaced.tracks.size(); ++t) {
    const Track& from = slowPlaced.tracks[t];
    for (Track& to : run.tracks) {
      if (to.rank != from.rank + 4 || to.lane != from.lane) continue;
      for (std::size_t i = 0; i < to.events.size(); ++i) {
        const std::int32_t step = to.events[i].step;
        if (step < firstSlow || step >= endOfSlow) continue;
        to.events[i].begin = from.events[i].begin;
        to.events[i].end = from.events[i].end;
      }
    }
  }
  run.sort();
  return run;
}

TEST(Findings, RankThatIsSlowerThanItsPeersIsNamedAndNotItsStage) {
  const std::vector<std::string> sentences = sentencesOf(withSlowReplica(4, 0, 4));
  EXPECT_THAT(
      sentences,
      Contains(StartsWith("rank 6 takes 1.30 times as long as the other ranks of stage 2: waiting "
                          "for it costs ")));
  EXPECT_THAT(sentences, Not(Contains(HasSubstr("median of stages"))));
}

TEST(Findings, ARunOnProcessorsIsNotSentToItsGpu) {
  Timeline timeline = withSlowReplica(4, 0, 4);
  const auto remedies = [&] {
    std::string text;
    for (const Finding& finding : explainRun(timeline, {}).findings) {
      text += remedyText(finding) + "\n";
    }
    return text;
  };
  EXPECT_THAT(remedies(), HasSubstr("look at the GPU and the host of that rank"));
  for (auto& [rank, info] : timeline.ranks) info.device = "cpu";
  EXPECT_THAT(remedies(),
              testing::AllOf(HasSubstr("look at the host of that rank"), Not(HasSubstr("GPU"))));
}

TEST(Findings, StageWhoseRanksAreAllSlowIsNamed) {
  const Plan plan = buildSchedule("1F1B", {4, 8});
  Costs costs = costsOf(plan, 0.1);
  test::scaleRank(costs, plan, 2, 1.3);
  const auto run = explainRun(test::twice(completedRun(plan, costs)), {});
  EXPECT_THAT(findingText(run.findings[0]),
              StartsWith("stage 2 (ranks 2 and 6) takes 1.30 times as long as the median"));
  EXPECT_THAT(remedyText(run.findings[0]),
              HasSubstr("all ranks there are alike, so give that stage fewer layers"));
}

TEST(Findings, SlowStageWithAnEvenSlowerRankIsNotSaidToHaveRanksThatAreAlike) {
  const Plan plan = withReplicas(buildSchedule("1F1B", {4, 8}), 2);
  Costs costs = costsOf(plan, 0.1);
  test::scaleRank(costs, plan, 2, 1.5);
  for (int microBatch = 8; microBatch < 16; ++microBatch) {
    costs.faults.jobs.push_back(
        {.action = {JobKind::kForward, 2, microBatch}, .longer = 10 * kNsPerMs});
  }
  const auto run = explainRun(completedRun(plan, costs), {});
  const auto stage = std::find_if(run.findings.begin(), run.findings.end(), [](const auto& each) {
    return findingText(each).starts_with("stage 2 (ranks 2 and 6) takes 1.50 times as long");
  });
  ASSERT_NE(stage, run.findings.end());
  EXPECT_EQ(remedyText(*stage),
            "its faster ranks take that long, too, so give that stage fewer layers");
}

TEST(Findings, OneOfTwoStagesIsComparedWithTheOther) {
  const Plan plan = buildSchedule("1F1B", {2, 8});
  Costs costs = costsOf(plan, 0.1);
  test::scaleRank(costs, plan, 1, 1.5);
  EXPECT_THAT(
      sentencesOf(completedRun(plan, costs)),
      Contains(StartsWith("stage 1 (rank 1) takes 1.50 times as long as the other stage: ")));
}

TEST(Findings, HalfOfTheStagesAreComparedWithTheOtherHalfInOneFinding) {
  const Plan plan = buildSchedule("Interleaved1F1B", {2, 8, 2});
  Costs costs = costsOf(plan, 0.1);
  test::scaleRank(costs, plan, 0, 1.5);
  const std::vector<std::string> sentences = sentencesOf(completedRun(plan, costs));
  EXPECT_THAT(sentences, Contains(StartsWith("stages 0 and 2 (rank 0) take 1.50 times as long as "
                                             "the other stages: ")));
  EXPECT_THAT(sentences, Not(Contains(HasSubstr("stages 1 and 3"))));
}

// Stages 0 and 2 together take 2.5 where the other two take 2.
TEST(Findings, HalfOfTheStagesTakeAsManyTimesAsLongAsTheOthersTogether) {
  const Plan plan = buildSchedule("Interleaved1F1B", {2, 8, 2});
  Costs costs = costsOf(plan, 0.1);
  for (Nanoseconds* const time : {&costs.stages[0].forward, &costs.stages[0].backward}) {
    *time += *time / 2;
  }
  const Timeline timeline = completedRun(plan, costs);
  const JobGraph graph(timeline, topologyOf(timeline));
  const SlowerStages stages(timeline, graph, MedianDurations(graph));
  EXPECT_NEAR(stages.besideOthers({0, 2}).times, 1.25, 1e-6);
  EXPECT_NEAR(stages.besideOthers({1, 3}).times, 0.8, 1e-6);
  EXPECT_NEAR(stages.besideOthers({0}).times, 1.5, 1e-6);
}

TEST(Findings, RankThatBecameSlowIsNamedWithTheStep) {
  EXPECT_THAT(sentencesOf(withSlowReplica(20, 12, 20)),
              Contains(StartsWith("rank 6 takes 1.30 times as long as the other ranks of stage 2 "
                                  "from step 12 on: ")));
  EXPECT_THAT(sentencesOf(withSlowReplica(20, 0, 5)),
              Contains(StartsWith("rank 6 takes 1.30 times as long as the other ranks of stage 2 "
                                  "until step 4: ")));
  EXPECT_THAT(sentencesOf(withSlowReplica(20, 5, 10)),
              Contains(StartsWith("rank 6 takes 1.30 times as long as the other ranks of stage 2 "
                                  "from step 5 to step 9: ")));
}

TEST(Findings, EachKindHasANameOfItsOwn) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < kFindingKindCount; ++i) {
    names.insert(findingKindName(static_cast<FindingKind>(i)));
  }
  EXPECT_EQ(names.size(), kFindingKindCount);
  EXPECT_TRUE(names.contains("slow_rank"));
}

TEST(Findings, RanksThatBeginTheirJobsLateAreOneFinding) {
  const Plan plan = buildSchedule("1F1B", {4, 8});
  Costs costs = costsOf(plan, 0.1);
  for (int mb = 0; mb < 8; ++mb) {
    for (int stage = 0; stage < 4; ++stage) {
      costs.faults.jobs.push_back(
          {{JobKind::kForward, stage, mb}, Faults::kEveryStep, 0, 5 * kNsPerMs});
    }
  }
  const auto run = explainRun(completedRun(plan, costs), {});
  const auto isLateStart = [](const Finding& f) {
    return f.bubbleClass == BubbleClass::kLateStart;
  };
  ASSERT_EQ(std::count_if(run.findings.begin(), run.findings.end(), isLateStart), 1);
  const Finding& finding = run.findings[0];
  EXPECT_THAT(findingText(finding),
              StartsWith("ranks begin their jobs later than their inputs are there, none far more "
                         "than others: late starts cost "));
  Nanoseconds all = 0;
  for (const auto& [rank, time] : finding.ranks) all += time;
  EXPECT_EQ(finding.ranks.size(), 4U);
  EXPECT_EQ(all, finding.time);
  EXPECT_THAT(remedyText(finding), HasSubstr("host"));
}

TEST(Findings, AClassOfWhichNoMoreIsKnownHasAPlainSentence) {
  const Plan plan = buildSchedule("1F1B", {4, 8});
  const Timeline timeline = completedRun(plan, costsOf(plan, 0));
  const auto run = explainRun(timeline, {});
  const JobGraph& graph = *run.graph;
  const MedianDurations& times = run.basis->times();
  const SlowerStages stages(timeline, graph, times);
  const LinkTimes links(graph, run.counted);
  const SlowerRanks ranks(graph, run.counted);
  const UnevenMicroBatches lengths(graph, run.counted);
  const ScatteredPauses scattered(graph, times, run.counted, lengths);
  const Peers peers(graph, run.counted);
  Culprits culprits;
  for (const int rank : {1, 2}) {
    culprits.groups.push_back({.bubbleClass = BubbleClass::kSync,
                               .rank = rank,
                               .time = (4 - rank) * kNsPerMs,
                               .job = graph.ranks()[static_cast<std::size_t>(rank)].first});
  }
  const std::vector<Finding> findings = findingsOf({.of = run.of,
                                                    .logs = "LOGS",
                                                    .times = times,
                                                    .stages = stages,
                                                    .ranks = ranks,
                                                    .links = links,
                                                    .lengths = lengths,
                                                    .scattered = scattered,
                                                    .peers = peers,
                                                    .counted = run.counted,
                                                    .culprits = culprits});
  const auto isPlain = [](const Finding& each) {
    return findingText(each).starts_with("ranks 1 and 2: ");
  };
  const auto found = std::find_if(findings.begin(), findings.end(), isPlain);
  ASSERT_NE(found, findings.end());
  EXPECT_THAT(findingText(*found), StartsWith("ranks 1 and 2: sync costs 5.000 ms of idle time, "));
  EXPECT_THAT(findingText(*found), HasSubstr(" of all (rank 1: 60.0 %, rank 2: 40.0 %)"));
  EXPECT_EQ(remedyText(*found), rowOf(BubbleClass::kSync).advice);
}

TEST(Findings, EachSaysWhatToLookAtNext) {
  const Plan plan = buildSchedule("1F1B", {4, 8});
  Costs costs = costsOf(plan, 1);
  test::scaleRank(costs, plan, 2, 1.3);
  costs.faults.links = {{0, 1, 4 * kNsPerMs}};
  costs.faults.jobs = {{{JobKind::kForward, 1, 4}, 1, 30 * kNsPerMs, 0},
                       {{JobKind::kForward, 3, 5}, Faults::kEveryStep, 0, 15 * kNsPerMs}};
  for (const Finding& finding :
       explainRun(test::withPauseAndEarlyMessages(completedRun(plan, costs, 5)), {}).findings) {
    EXPECT_NE(remedyText(finding), "") << findingText(finding);
  }
}

TEST(Findings, TheyAreAboutTheChosenSteps) {
  const Plan plan = buildSchedule("1F1B", {4, 8});
  Costs costs = costsOf(plan, 0.1);
  costs.faults.jobs = {{{JobKind::kForward, 1, 4}, 1, 30 * kNsPerMs, 0}};
  const Timeline timeline = completedRun(plan, costs, 4);
  const auto all = explainRun(timeline, {});
  const auto chosen = explainRun(timeline, {.steps = {{2, 4}}});
  const auto texts = [](const Explanation& run) {
    std::string text;
    for (const Finding& finding : run.findings) text += findingText(finding) + "\n";
    return text;
  };
  EXPECT_THAT(texts(all), HasSubstr("1F4 of rank 1 takes 40.00 ms in step 1"));
  EXPECT_THAT(texts(chosen), Not(HasSubstr("1F4")));
  // Two of four steps count. They have only the schedule's own idle time and what all steps have.
  Nanoseconds idle = 0;
  for (const StepSummary& step : chosen.summary.steps) {
    if (step.step < 2) continue;
    for (const RankStep& rank : step.ranks) idle += rank.idle;
  }
  Nanoseconds ofFindings = 0;
  for (const Finding& finding : chosen.findings) ofFindings += finding.time;
  EXPECT_EQ(ofFindings, idle);
  Nanoseconds ofRanks = 0;
  for (const ExplainedRank& rank : chosen.ranks) {
    Nanoseconds classes = 0;
    for (const Nanoseconds time : rank.bubbles) classes += time;
    EXPECT_EQ(classes, rank.idle);
    ofRanks += rank.idle;
  }
  EXPECT_EQ(ofRanks, idle);
}

TEST(Findings, FirstStepThatCompilesIsInNone) {
  const Plan plan = buildSchedule("1F1B", {4, 8});
  Costs costs = costsOf(plan, 0.1);
  costs.faults.jobs = {{{JobKind::kForward, 1, 4}, 0, kNsPerSecond, 0}};
  const Timeline timeline = completedRun(plan, costs, 4);
  const std::string first = "1F4 of rank 1 takes 1.010 s in step 0";
  EXPECT_THAT(sentencesOf(timeline), Not(Contains(StartsWith(first))));
  std::vector<std::string> withFirst;
  for (const Finding& finding : explainRun(timeline, {.steps = {{0}}}).findings) {
    withFirst.push_back(findingText(finding));
  }
  EXPECT_THAT(withFirst, Contains(StartsWith(first)));
}

}  // namespace
}  // namespace pipetrace
