// The wall time of steps, ranks that load data, and ranks that send late.
#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/causes/findings.h"
#include "analysis/causes/slower_than_others.h"
#include "analysis/present/finding_sentences.h"
#include "analysis/present/run_report.h"
#include "analysis/testing/explained_run.h"
#include "analysis/testing/faulty_run.h"
#include "analysis/testing/hand_made_timeline.h"
#include "analysis/testing/run_of_timeline.h"
#include "analysis/testing/sentences_of.h"
#include "trace/event_arguments.h"

namespace pipetrace {
namespace {

using test::completedRun;
using test::costsOf;
using test::sentencesOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;
using enum JobKind;

/// Six steps of 1F1B whose stage 2 takes 1.2 times as long, each `pauseMs` after the one before.
/// Rank 1 loads data then.
Timeline pausedRun(Nanoseconds pauseMs) {
  const Plan plan = buildSchedule("1F1B", {4, 8});
  Costs costs = costsOf(plan, 0.1);
  test::scaleRank(costs, plan, 2, 1.2);
  Timeline run = completedRun(plan, costs, 6);
  std::vector<Nanoseconds> begins(6, kNsMax);
  for (Track& track : run.tracks) {
    for (Event& event : track.events) {
      event.begin += event.step * pauseMs * kNsPerMs;
      event.end += event.step * pauseMs * kNsPerMs;
      if (isCompute(event.kind)) begins[event.step] = std::min(begins[event.step], event.begin);
    }
  }
  for (std::int32_t step = 1; step < 6; ++step) {
    Event load;
    load.kind = kData;
    load.step = step;
    load.end = begins[step] - kNsPerMs;
    load.begin = load.end - (pauseMs - 1) * kNsPerMs;
    run.track(1, kComputeLane).events.push_back(load);
  }
  run.sort();
  return run;
}

TEST(PaidTime, PausesAreFindingsByTheirCostLikeAllOthers) {
  const std::vector<std::string> small = sentencesOf(pausedRun(10));
  EXPECT_THAT(small[0], StartsWith("stage 2 (rank 2) takes 1.20 times as long"));
  EXPECT_THAT(small[1], StartsWith("rank 1's data loader: 9.000 ms a step: pauses between steps "
                                   "cost "));
  const std::vector<std::string> large = sentencesOf(pausedRun(300));
  EXPECT_THAT(large[0], StartsWith("rank 1's data loader: 299.0 ms a step: pauses between steps "
                                   "cost "));
  EXPECT_THAT(large[1], StartsWith("stage 2 (rank 2) takes 1.20 times as long"));
}

TEST(PaidTime, TheCostOfAPauseIsItsLengthOnAllRanksOfTheSteps) {
  const auto run = explainRun(pausedRun(300), {});
  const Finding& finding = run.findings.at(0);
  Nanoseconds between = 0;
  Nanoseconds wall = 0;
  for (const ExplainedStep& step : run.steps) {
    between += 4 * step.summary.betweenSteps;
    wall += 4 * step.summary.wall();
  }
  EXPECT_EQ(finding.time, between);
  EXPECT_DOUBLE_EQ(finding.shareOfSteps, static_cast<double>(between) / static_cast<double>(wall));
  EXPECT_EQ(finding.severity, Severity::kWarning);
}

TEST(PaidTime, TheHeadlineOfAStepIsItsWallTimeFromItsBeginToTheNextOnes) {
  const auto head = [](const Timeline& timeline) {
    const Diagnostics none;
    const auto run = explainRun(timeline, {});
    return runHeadLines({.explanation = run, .diagnostics = none}).at(1);
  };
  HandMadeTimeline made;
  for (std::int32_t step = 0; step < 4; ++step) {
    made.add(0, kForward, step * 164 * kNsPerMs, (step * 164 + 103) * kNsPerMs, step);
  }
  made.timeline.sort();
  EXPECT_EQ(head(made.timeline),
            "a step takes 164.0 ms of wall time, to the next one's begin; 103.0 ms from its first "
            "job to its last (medians)");
  HandMadeTimeline one;
  one.add(0, kForward, 0, 103 * kNsPerMs, 0);
  EXPECT_EQ(head(one.timeline),
            "a step takes 103.0 ms from its first job to its last; no step follows, so what passes "
            "between steps is not known");
}

TEST(PaidTime, TokensASecondAreThoseOfStepsWithTheirPauses) {
  HandMadeTimeline made;
  for (std::int32_t step = 0; step < 3; ++step) {
    made.add(0, kForward, step * 200 * kNsPerMs, (step * 200 + 100) * kNsPerMs, step);
  }
  made.timeline.sort();
  const auto run = explainRun(made.timeline, {.tokensPerStep = 1000});
  EXPECT_DOUBLE_EQ(run.tokensPerSecond.value_or(0), 5000) << "1000 in 200 ms";
}

/// 1F1B of two ranks and two micro-batches, three steps. `late`: how long after forward 0 of rank 0
/// its message is posted, by its sender or by its receiver.
Timeline lateSends(Nanoseconds late, bool isReceiverLate = false) {
  HandMadeTimeline made;
  for (int step = 0; step < 3; ++step) {
    const auto add = [&](int rank, JobKind kind, Nanoseconds begin, Nanoseconds end, int microBatch,
                         std::string_view lane = kComputeLane) {
      const Nanoseconds at = step * 200;
      made.add(rank, kind, (at + begin) * kNsPerMs, (at + end) * kNsPerMs, step, microBatch, lane)
          .stage = rank;
    };
    const Nanoseconds t = 10 + late;  // the first message begins
    const Nanoseconds second = std::max<Nanoseconds>(20, t + 1);
    add(0, kForward, 0, 10, 0);
    add(0, kForward, 10, 20, 1);
    add(0, kSendForward, isReceiverLate ? 10 : t, t + 1, 0, "send_forward");
    add(1, kRecvForward, isReceiverLate ? t : 1, t + 1, 0, "recv_forward");
    add(0, kSendForward, second, second + 1, 1, "send_forward");
    add(1, kRecvForward, 2, second + 1, 1, "recv_forward");
    add(1, kForward, t + 1, t + 11, 0);
    add(1, kBackward, t + 11, t + 31, 0);
    add(1, kForward, t + 31, t + 41, 1);
    add(1, kBackward, t + 41, t + 61, 1);
    add(1, kSendBackward, t + 31, t + 32, 0, "send_backward");
    add(0, kRecvBackward, 3, t + 32, 0, "recv_backward");
    add(1, kSendBackward, t + 61, t + 62, 1, "send_backward");
    add(0, kRecvBackward, 4, t + 62, 1, "recv_backward");
    add(0, kBackward, t + 32, t + 52, 0);
    add(0, kBackward, t + 62, t + 82, 1);
  }
  made.timeline.sort();
  return made.timeline;
}

TEST(PaidTime, ALateSendIsTheSendersAndNamesTheMessage) {
  const auto run = explainRun(lateSends(10), {});
  const auto late = std::find_if(run.findings.begin(), run.findings.end(), [](const Finding& f) {
    return f.kind == FindingKind::kLateMessages;
  });
  ASSERT_NE(late, run.findings.end());
  EXPECT_THAT(findingText(*late), StartsWith("rank 0 posts 0SEND_F0 10.00 ms after its data are "
                                             "there: late starts cost "));
  EXPECT_THAT(remedyText(*late), HasSubstr("the network is not to blame"));
  EXPECT_EQ(late->bubbleClass, BubbleClass::kLateStart);
  std::set<std::string> culprits;
  for (const auto& bubbles : run.bubbles.byRank) {
    for (const Bubble& bubble : bubbles) {
      if (bubble.bubbleClass != BubbleClass::kLateStart) continue;
      culprits.insert(culpritName(run.of.timeline(), *run.graph, bubble));
      EXPECT_EQ(run.graph->ranks()[culpritRankOf(*run.graph, bubble)].number, 0);
    }
  }
  EXPECT_THAT(culprits, ElementsAre("0SEND_F0"));
  EXPECT_THAT(sentencesOf(lateSends(10)), Not(Contains(HasSubstr("begins 0F0 later"))));
}

TEST(PaidTime, ASendBehindAReceiveNamesIt) {
  Timeline timeline = lateSends(10);
  timeline.ranks[0].device = "cpu";
  std::optional<Event> send;
  for (const Track& track : timeline.tracks) {
    for (const Event& event : track.events) {
      const bool isLate = track.rank == 0 && event.kind == JobKind::kSendForward;
      if (isLate && !send) send = event;
    }
  }
  ASSERT_TRUE(send);
  Event receive = *send;
  receive.kind = JobKind::kRecvBackward;
  receive.begin = send->begin - 8 * kNsPerMs;
  receive.end = send->begin;
  receive.microBatch = 7;
  timeline.track(0, "recv").events.push_back(receive);
  timeline.sort();
  EXPECT_THAT(sentencesOf(timeline), Contains(HasSubstr("its data are there, behind its 0RECV_B7: "
                                                        "late starts cost ")));
}

TEST(PaidTime, AReceiveThatIsPostedLateIsTheReceivers) {
  EXPECT_THAT(sentencesOf(lateSends(10, true)),
              Contains(StartsWith("rank 1 posts 1RECV_F0 10.00 ms after its data are there")));
}

/// Forwards of a pipeline of three ranks, eight of 10 ms in each of three steps. `late`: how many
/// ms after its data a message is sent.
Timeline forwardsSent(const std::function<Nanoseconds(int rank, int step, int m)>& late) {
  constexpr int kRanks = 3;
  HandMadeTimeline made;
  for (int step = 0; step < 3; ++step) {
    std::vector<Nanoseconds> there(8, 400 * step);  // of each micro-batch's data at the next rank
    for (int rank = 0; rank < kRanks; ++rank) {
      const auto add = [&](JobKind kind, Nanoseconds begin, Nanoseconds end, int m,
                           std::string_view lane) {
        made.add(rank, kind, begin * kNsPerMs, end * kNsPerMs, step, m, lane).stage = rank;
      };
      Nanoseconds free = 400 * step;
      for (int m = 0; m < 8; ++m) {
        Nanoseconds& data = there[static_cast<std::size_t>(m)];
        if (rank > 0) add(kRecvForward, 400 * step, data, m, "recv_forward");
        const Nanoseconds end = std::max(free, data) + 10;
        add(kForward, end - 10, end, m, kComputeLane);
        free = end;
        const Nanoseconds sent = end + late(rank, step, m);
        if (rank + 1 < kRanks) add(kSendForward, sent, sent + 1, m, "send_forward");
        data = sent + 1;
      }
    }
  }
  made.timeline.sort();
  for (int rank = 0; rank < kRanks; ++rank) {
    made.timeline.ranks[rank] = {.rank = rank, .numStages = kRanks};
  }
  return made.timeline;
}

TEST(PaidTime, OneMessageOfARankThatIsLateOnceIsNotJoinedWithARankThatAlwaysSendsLate) {
  const auto sentences = sentencesOf(forwardsSent([](int rank, int step, int m) {
    return rank == 1 ? 15 : step == 1 && m == 7 ? 90 : 0;
  }));
  EXPECT_THAT(sentences, Contains(StartsWith("rank 0 posts 0SEND_F7 90.00 ms after its data are "
                                             "there in step 1: late starts cost ")));
  EXPECT_THAT(sentences, Not(Contains(HasSubstr("ranks 0 and 1 post"))));
}

TEST(PaidTime, OneLateMessageAndARankThatSendsLateAreBothNamedThoughTheyCostAsMuch) {
  const auto sentences = sentencesOf(forwardsSent([](int rank, int step, int m) {
    return rank == 1 ? 15 : step == 1 && m == 7 ? 45 : 0;
  }));
  EXPECT_THAT(sentences, Contains(StartsWith("rank 0 posts 0SEND_F7 45.00 ms after its data are "
                                             "there in step 1: late starts cost ")));
  EXPECT_THAT(sentences, Contains(StartsWith("rank 1 posts 1SEND_F0 15.00 ms after its data are "
                                             "there: late starts cost ")));
}

TEST(PaidTime, AMessageThatIsLateByFarMoreThanTheOthersOfItsRankIsAFindingByItself) {
  const auto sentences = sentencesOf(forwardsSent([](int rank, int step, int m) {
    if (rank != 0) return 0;
    return step == 1 && m == 7 ? 90 : 8;
  }));
  EXPECT_THAT(sentences, Contains(StartsWith("rank 0 posts 0SEND_F7 90.00 ms after its data are "
                                             "there in step 1: late starts cost ")));
  EXPECT_THAT(sentences, Contains(StartsWith("rank 0 posts 0SEND_F0 8.000 ms after its data")));
}

TEST(PaidTime, SendsInTimeAreNoFinding) {
  EXPECT_THAT(sentencesOf(lateSends(0)), Not(Contains(HasSubstr("post"))));
}

TEST(PaidTime, WhereSendsAreNotRecordedLateOnesLookLikeASlowLink) {
  Timeline timeline = lateSends(10);
  std::erase_if(timeline.tracks, [](const Track& track) { return track.lane.starts_with("send"); });
  const auto run = explainRun(timeline, {});
  const auto link = std::find_if(run.findings.begin(), run.findings.end(), [](const Finding& f) {
    return f.bubbleClass == BubbleClass::kTransfer;
  });
  ASSERT_NE(link, run.findings.end());
  EXPECT_THAT(findingText(*link), HasSubstr("when they were sent is not recorded, so late sends "
                                            "look like slow messages"));
  EXPECT_THAT(remedyText(*link), StartsWith("record the sends"));
}

TEST(PaidTime, AFewSendsThatAStoppedProgramLacksAreNotMissed) {
  Timeline timeline = lateSends(10);
  for (Track& track : timeline.tracks) {
    if (track.lane.starts_with("send")) track.events.pop_back();
  }
  const auto run = explainRun(timeline, {});
  for (const Finding& finding : run.findings) {
    EXPECT_THAT(findingText(finding), Not(HasSubstr("is not recorded")));
  }
}

/// Three ranks in a row. Messages from 0 to 1 take 1 ms, those from 1 to 2 as `lengths` say, in us.
LinkTimes linksOf(const std::vector<Nanoseconds>& lengths) {
  HandMadeTimeline made;
  const auto add = [&](int rank, JobKind kind, Nanoseconds begin, Nanoseconds end, int step,
                       std::string_view lane = kComputeLane) {
    Event& event = made.add(rank, kind, begin, end, step, 0, lane);
    event.stage = rank;
  };
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const auto step = static_cast<int>(i);
    const Nanoseconds at = step * 100 * kNsPerMs;
    const auto message = [&](int from, Nanoseconds begin, Nanoseconds end) {
      add(from, kSendForward, begin, end, step, "send_forward");
      add(from + 1, kRecvForward, begin, end, step, "recv_forward");
    };
    add(0, kForward, at, at + 10 * kNsPerMs, step);
    message(0, at + 10 * kNsPerMs, at + 11 * kNsPerMs);
    add(1, kForward, at + 11 * kNsPerMs, at + 20 * kNsPerMs, step);
    const Nanoseconds arrived = at + 20 * kNsPerMs + lengths[i] * 1000;
    message(1, at + 20 * kNsPerMs, arrived);
    add(2, kForward, arrived, arrived + 10 * kNsPerMs, step);
  }
  made.timeline.sort();
  const Run run = asRun(made.timeline);
  return LinkTimes(run.graph());
}

TEST(PaidTime, ALinkIsSlowOnlyByMoreThanItsOwnScatter) {
  const LinkTimes::Link link(1, 2);
  const LinkTimes steady = linksOf({1500, 1510, 1490, 1500, 1505, 1495, 1500, 1500});
  EXPECT_EQ(steady.of(link), 1500 * 1000);
  EXPECT_TRUE(steady.isSlow(link));
  const LinkTimes scattered = linksOf({500, 2800, 700, 1500, 3000, 1500, 600, 2500});
  EXPECT_EQ(scattered.of(link), 1500 * 1000);
  EXPECT_GT(scattered.scatterOf(link), 500 * 1000);
  EXPECT_FALSE(scattered.isSlow(link));
}

/// Three ranks in a row that send to their neighbours in both directions. Messages take 1 ms, but
/// those from rank 2 to rank 1 5 ms.
TEST(PaidTime, ALinkThatIsSlowInOneDirectionIsAsSlowAsThatDirection) {
  const Plan plan = buildSchedule("1F1B", {3, 6});
  Timeline run = completedRun(plan, costsOf(plan, 1), 4);
  for (Track& track : run.tracks) {
    for (Event& event : track.events) {
      const bool isSend = event.kind == kSendBackward && track.rank == 2;
      const bool isReceive = event.kind == kRecvBackward && track.rank == 1;
      if (isSend || isReceive) event.begin -= 4 * kNsPerMs;
    }
  }
  run.sort();
  const auto asWhole = asRun(run);
  const LinkTimes links(asWhole.graph());
  EXPECT_EQ(links.of({1, 2}), 5 * kNsPerMs);
  EXPECT_TRUE(links.isSlow({1, 2}));
  EXPECT_EQ(links.slowWayOf({1, 2}), LinkTimes::Link(2, 1));
  EXPECT_EQ(links.of({0, 1}), kNsPerMs);
  EXPECT_EQ(links.slowWayOf({0, 1}), std::nullopt);
}

TEST(PaidTime, MessagesOnTheOnlyLinkAreAboutNoLinkInParticular) {
  const Plan plan = buildSchedule("1F1B", {2, 8});
  const auto run = explainRun(completedRun(plan, costsOf(plan, 3), 3), {});
  const auto found = std::find_if(run.findings.begin(), run.findings.end(), [](const Finding& f) {
    return f.kind == FindingKind::kSlowLink;
  });
  ASSERT_NE(found, run.findings.end());
  EXPECT_THAT(whereaboutsOf(*found).links, IsEmpty());
}

/// Steps of a third of a second with 20 ms between them.
TEST(PaidTime, APauseAfterEachStepMayBeTheOptimizerWhereNoneIsRecorded) {
  const Plan plan = buildSchedule("1F1B", {4, 8});
  for (const bool hasOptimizers : {false, true}) {
    Timeline run = completedRun(plan, costsOf(plan, 0.1), 5);
    for (Track& track : run.tracks) {
      for (Event& event : track.events) {
        event.begin += event.step * 20 * kNsPerMs;
        event.end += event.step * 20 * kNsPerMs;
      }
      if (hasOptimizers) continue;
      std::erase_if(track.events, [](const Event& event) { return event.kind == kOptimizer; });
    }
    run.sort();
    const auto explained = explainRun(run, {});
    const auto pause =
        std::find_if(explained.findings.begin(), explained.findings.end(),
                     [](const Finding& f) { return f.kind == FindingKind::kPauses; });
    ASSERT_NE(pause, explained.findings.end());
    EXPECT_FALSE(pause->isMinor) << pause->shareOfSteps;
    const std::string doubt =
        "; no optimizer is recorded, so it may be that, or data, a checkpoint";
    EXPECT_EQ(findingText(*pause).find(doubt) == std::string::npos, hasOptimizers);
  }
}

/// Two replicas of one stage, of which rank 1 takes that many ms a step, rank 0 100.
SlowerRanks::Rank besidePeer(const std::vector<Nanoseconds>& lengths) {
  HandMadeTimeline made;
  for (const int rank : {0, 1}) {
    RankInfo& info = made.timeline.ranks[rank];
    info.dataParallelIndex = rank;
    info.numStages = 1;
    info.worldSize = 2;
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      const auto step = static_cast<std::int32_t>(i);
      const Nanoseconds begin = step * 200 * kNsPerMs;
      const Nanoseconds length = rank == 0 ? 100 : lengths[i];
      made.add(rank, kForward, begin, begin + length * kNsPerMs, step).stage = 0;
    }
  }
  made.timeline.sort();
  const auto run = asRun(made.timeline);
  return SlowerRanks(run.graph(), {}).of(1);
}

TEST(PaidTime, ARankIsSlowOnlyByMoreThanItsStepsVary) {
  EXPECT_TRUE(besidePeer({104, 104, 104, 104, 104}).isSlower());
  const SlowerRanks::Rank varies = besidePeer({92, 110, 104, 97, 115});
  EXPECT_DOUBLE_EQ(varies.factor, 1.04);
  EXPECT_GT(varies.standardError, 0.02);
  EXPECT_FALSE(varies.isSlower());
}

/// Jobs vary, and others wait for some of the rank's stages alone.
TEST(PaidTime, ASlowRankHasAllOfItsStages) {
  for (int seed = 1; seed <= 6; ++seed) {
    const Plan plan = buildSchedule("Interleaved1F1B", {12, 24, 4});
    Costs costs = costsOf(plan, 0.1);
    test::scaleRank(costs, plan, 0, 1.49);
    std::mt19937 random(static_cast<unsigned>(seed));
    for (int step = 0; step < 3; ++step) {
      for (const std::vector<Action>& row : plan.ranks) {
        for (const Action& action : row) {
          costs.faults.jobs.push_back(
              {action, step, static_cast<Nanoseconds>(random() % 2'000'000), 0});
        }
      }
    }
    const auto run = explainRun(completedRun(plan, costs, 3), {});
    EXPECT_EQ(run.findings.at(0).kind, FindingKind::kSlowStages);
    EXPECT_THAT(whereaboutsOf(run.findings.at(0)).stages, ElementsAre(0, 12, 24, 36)) << seed;
  }
}

/// Each job of 1F1B on four ranks with eight micro-batches begins `late` of its rank later.
Timeline lateStarts(const std::vector<Nanoseconds>& late) {
  const auto faults = [&](const Plan& plan) {
    std::vector<Faults::Job> jobs;
    for (std::size_t rank = 0; rank < late.size(); ++rank) {
      for (const Action& action : plan.ranks[rank]) {
        jobs.push_back({.action = action, .late = late[rank]});
      }
    }
    return jobs;
  };
  return test::runOfFaults(faults, 4);
}

TEST(PaidTime, OfRanksWithLateStartsOnlyTheOneThatStandsOutIsNamed) {
  const auto run =
      explainRun(lateStarts({kNsPerMs / 4, kNsPerMs / 4, 5 * kNsPerMs, kNsPerMs / 4}), {});
  const Finding& first = run.findings.at(0);
  EXPECT_EQ(first.kind, FindingKind::kLateJobs);
  EXPECT_THAT(whereaboutsOf(first).ranks, ElementsAre(2));
  EXPECT_THAT(findingText(first), StartsWith("rank 2 begins its jobs later"));
}

TEST(PaidTime, OfRanksThatAreLateThoseAreNamedThatCostMoreThanATraceOfTheFirst) {
  const auto run =
      explainRun(lateStarts({kNsPerMs / 100, kNsPerMs / 100, 20 * kNsPerMs, kNsPerMs / 2}), {});
  EXPECT_THAT(findingText(run.findings.front()), StartsWith("rank 2 begins its jobs later"));
}

TEST(PaidTime, WhereAllRanksStartLateAlikeNobodyIsToBlame) {
  const auto run = explainRun(lateStarts({kNsPerMs, kNsPerMs, kNsPerMs, kNsPerMs}), {});
  const auto late = std::find_if(run.findings.begin(), run.findings.end(),
                                 [](const Finding& f) { return f.kind == FindingKind::kLateJobs; });
  ASSERT_NE(late, run.findings.end());
  EXPECT_THAT(whereaboutsOf(*late).ranks, IsEmpty());
  EXPECT_THAT(findingText(*late), StartsWith("ranks begin their jobs later than their inputs are "
                                             "there, none far more than others"));
}

/// The first rank of two runs forward 1, which needs no message. Before that it waits for the
/// gradient of micro-batch 0, in a call that sends and receives.
/// With `loads`, it loads a batch between the wait and the forward.
Timeline waitsForALaterMessage(bool knowsWhose, bool loads = false) {
  HandMadeTimeline made;
  StringTable& strings = made.timeline.strings;
  for (std::int32_t step = 0; step < 3; ++step) {
    const auto add = [&](int rank, JobKind kind, Nanoseconds begin, Nanoseconds end, int microBatch,
                         std::string_view lane = kComputeLane) -> Event& {
      const Nanoseconds at = step * 200;
      Event& event = made.add(rank, kind, (at + begin) * kNsPerMs, (at + end) * kNsPerMs, step,
                              microBatch, lane);
      event.stage = rank;
      return event;
    };
    const auto say = [&](Event& event, std::string_view key, Nanoseconds time) {
      const Argument argument = Argument::ofInteger(strings.intern(key), time * kNsPerMs);
      made.timeline.setArguments(event, {&argument, 1});
    };
    add(0, kForward, 0, 10, 0);
    add(0, kSendForward, 10, 11, 0, "send");
    add(1, kRecvForward, 0, 11, 0, "recv");
    add(1, kForward, 11, 21, 0);
    add(1, kBackward, 21, 81, 0);
    if (knowsWhose) {
      add(1, kSendBackward, 81, 82, 0, "send");
      say(add(0, kRecvBackward, 11, 82, 0, "recv"), message_arguments::kWaited, 71);
    }
    if (loads) add(0, kData, 83, 84, kNotGiven).stage = kNotGiven;
    Event& next = add(0, kForward, loads ? 85 : 83, 93, 1);
    if (!knowsWhose) say(next, message_arguments::kAfterWait, loads ? 3 : 1);
    add(0, kBackward, 93, 153, 0);
    add(0, kSendForward, 93, 94, 1, "send");
    add(1, kRecvForward, 82, 94, 1, "recv");
    add(1, kForward, 94, 104, 1);
    add(1, kBackward, 104, 164, 1);
    if (knowsWhose) {
      add(1, kSendBackward, 164, 165, 1, "send");
      say(add(0, kRecvBackward, 153, 165, 1, "recv"), message_arguments::kWaited, 12);
    }
    add(0, kBackward, 166, 196, 1);
  }
  made.timeline.sort();
  return made.timeline;
}

Nanoseconds timeOf(const Explanation& run, BubbleClass bubbleClass) {
  return run.ranks.at(0).bubbles[static_cast<std::size_t>(bubbleClass)];
}

TEST(PaidTime, AWaitForTheMessageOfALaterJobIsNoLateStart) {
  const auto run = explainRun(waitsForALaterMessage(true), {});
  EXPECT_LE(timeOf(run, BubbleClass::kLateStart), 3 * 2 * kNsPerMs) << "1 ms after each wait";
}

TEST(PaidTime, NorIsItWhereABatchIsLoadedBehindTheWaitAndNobodyKnowsForWhat) {
  for (const bool loads : {false, true}) {
    const auto run = explainRun(waitsForALaterMessage(false, loads), {});
    EXPECT_LE(timeOf(run, BubbleClass::kLateStart), 3 * 4 * kNsPerMs) << loads;
    EXPECT_GE(timeOf(run, BubbleClass::kUnknown), 3 * 10 * kNsPerMs) << loads;
  }
}

/// Rank 1 loads data until `loadedMs`; its input is there after 31 ms, or it posts the receive when
/// it has loaded.
Timeline loadsWhileItWaits(Nanoseconds loadedMs, bool isPostedAfter = false) {
  HandMadeTimeline made;
  for (std::int32_t step = 0; step < 3; ++step) {
    const auto add = [&](int rank, JobKind kind, Nanoseconds begin, Nanoseconds end,
                         std::string_view lane = kComputeLane) {
      const Nanoseconds at = step * 400;
      made.add(rank, kind, (at + begin) * kNsPerMs, (at + end) * kNsPerMs, step, 0, lane).stage =
          rank;
    };
    const Nanoseconds begin = isPostedAfter ? loadedMs + 1 : std::max<Nanoseconds>(31, loadedMs);
    add(0, kForward, 0, 30);
    if (!isPostedAfter) add(0, kSendForward, 30, 31, "send");
    add(1, kRecvForward, isPostedAfter ? loadedMs : 0, isPostedAfter ? begin : 31, "recv");
    add(1, kData, 0, loadedMs);
    add(1, kForward, begin, begin + 30);
    add(1, kBackward, begin + 30, begin + 90);
    add(1, kSendBackward, begin + 90, begin + 91, "send");
    add(0, kRecvBackward, 31, begin + 91, "recv");
    add(0, kBackward, begin + 91, begin + 151);
  }
  made.timeline.sort();
  return made.timeline;
}

TEST(PaidTime, LoadingDataCostsOnlyWhatTheNextJobWaitsBeyondItsInputs) {
  for (const auto& [loaded, cost] : {std::pair(25, 0), std::pair(50, 3 * (50 - 31))}) {
    const auto run = explainRun(loadsWhileItWaits(loaded), {});
    const ClassTimes& ofRank = run.ranks.at(1).bubbles;
    EXPECT_EQ(ofRank[static_cast<std::size_t>(BubbleClass::kLateStart)], cost * kNsPerMs) << loaded;
    EXPECT_EQ(ofRank[static_cast<std::size_t>(BubbleClass::kUnknown)], 0) << loaded;
  }
  EXPECT_THAT(
      sentencesOf(loadsWhileItWaits(50)),
      Contains(StartsWith("rank 1's data loader: 50.00 ms a step, up to 50.00 ms at once")));
  EXPECT_THAT(sentencesOf(loadsWhileItWaits(25)), Not(Contains(HasSubstr("data loader"))));
}

// The data are made at 30, and received at 51 as the receive is posted at 50.
TEST(PaidTime, LoadingDataCostsSinceTheInputWasMadeIfItsReceiveIsPostedAfterThat) {
  const auto run = explainRun(loadsWhileItWaits(50, true), {});
  const ClassTimes& ofRank = run.ranks.at(1).bubbles;
  EXPECT_EQ(ofRank[static_cast<std::size_t>(BubbleClass::kLateStart)], 3 * (50 - 30) * kNsPerMs);
  for (const Finding& finding : run.findings) {
    if (finding.bubbleClass != BubbleClass::kLateStart) continue;
    EXPECT_EQ(finding.kind, FindingKind::kData);
  }
}

/// Rank 1 waits for its message and for `idleMs`, then loads data for 1 ms and runs its job.
Timeline loadsAfterItWaited(Nanoseconds idleMs = 0) {
  HandMadeTimeline made;
  for (std::int32_t step = 0; step < 3; ++step) {
    const Nanoseconds longer = step == 2 ? 60 : 0;  // rank 0's forward takes longer
    const Nanoseconds late = longer + idleMs;
    const auto add = [&](int rank, JobKind kind, Nanoseconds begin, Nanoseconds end,
                         std::string_view lane = kComputeLane) {
      const Nanoseconds at = step * 400;
      made.add(rank, kind, (at + begin) * kNsPerMs, (at + end) * kNsPerMs, step, 0, lane).stage =
          rank;
    };
    add(0, kForward, 0, longer + 30);
    add(0, kSendForward, longer + 30, longer + 31, "send");
    add(1, kRecvForward, 0, longer + 31, "recv");
    add(1, kData, late + 31, late + 32);
    add(1, kForward, late + 32, late + 62);
    add(1, kBackward, late + 62, late + 122);
    add(1, kSendBackward, late + 122, late + 123, "send");
    add(0, kRecvBackward, longer + 31, late + 123, "recv");
    add(0, kBackward, late + 123, late + 183);
  }
  made.timeline.sort();
  return made.timeline;
}

TEST(PaidTime, WhatComesBeforeALoadIsOfTheJobBehindIt) {
  const auto run = explainRun(loadsAfterItWaited(40), {});
  bool isNamed = false;
  for (const Finding& finding : run.findings) {
    if (finding.kind == FindingKind::kData) {
      EXPECT_LE(finding.time, 3 * 2 * kNsPerMs);
    }
    const bool isLate =
        finding.kind == FindingKind::kLateJob || finding.kind == FindingKind::kLateJobs;
    if (isLate) isNamed = finding.time >= 3 * 40 * kNsPerMs;
  }
  EXPECT_TRUE(isNamed);
}

TEST(PaidTime, ALoadBehindTheWaitForAMessageWaitedForThatToo) {
  const auto run = explainRun(loadsAfterItWaited(), {});
  const JobGraph& graph = *run.graph;
  int loads = 0;
  for (JobGraph::Id id = 0; id < graph.jobCount(); ++id) {
    if (graph.node(id).kind != kData) continue;
    ++loads;
    ASSERT_NE(graph.node(id).inputs[0], JobGraph::kNone);
    EXPECT_TRUE(graph.node(graph.node(id).inputs[0]).isMessage);
  }
  EXPECT_EQ(loads, 3);
  for (const Finding& finding : run.findings) {
    if (finding.kind != FindingKind::kData) continue;
    EXPECT_LE(finding.time, 3 * 2 * kNsPerMs) << "what it takes itself, on both ranks";
  }
}

TEST(PaidTime, AMessageThatWasThereEarlyIsNoTransfer) {
  Timeline timeline = lateSends(0);
  for (Track& track : timeline.tracks) {
    for (Event& event : track.events) {
      // Forward 1 begins 3 ms after the job before it, and its message came long before.
      if (track.rank == 1 && event.kind == kForward && event.microBatch == 1) {
        event.begin += 3 * kNsPerMs;
      }
      if (!isTransfer(event.kind) || !isForwardTransfer(event.kind) || event.microBatch != 1) {
        continue;
      }
      const Argument early = Argument::ofText(timeline.strings.intern(message_arguments::kArrived),
                                              timeline.strings.intern(message_arguments::kEarly));
      timeline.setArguments(event, {&early, 1});
    }
  }
  const auto run = explainRun(timeline, {});
  const auto& nodes = run.graph->nodes();
  const auto job = std::find_if(nodes.begin(), nodes.end(), [](const JobGraph::Node& node) {
    return node.rank == 1 && node.kind == kForward && node.microBatch == 1;
  });
  ASSERT_NE(job, nodes.end());
  EXPECT_TRUE(job->gotDataEarly);
  const ClassTimes& ofRank = run.ranks.at(1).bubbles;
  EXPECT_EQ(ofRank[static_cast<std::size_t>(BubbleClass::kLateStart)], 3 * 3 * kNsPerMs);
}

TEST(PaidTime, AWaitForAMessageOfNobodyIsUnknownAndSaysHowToRecordIt) {
  const auto run = explainRun(waitsForALaterMessage(false), {});
  EXPECT_GT(timeOf(run, BubbleClass::kUnknown), 0);
  const auto unknown = std::find_if(run.findings.begin(), run.findings.end(), [](const Finding& f) {
    return f.kind == FindingKind::kUnknown;
  });
  ASSERT_NE(unknown, run.findings.end());
  EXPECT_THAT(findingText(*unknown), HasSubstr("ranks wait for messages of which the traces do not "
                                               "say whose they are"));
  EXPECT_THAT(remedyText(*unknown), HasSubstr("record_function"));
}

}  // namespace
}  // namespace pipetrace
