// The findings of runs of which it is known what went wrong.
#include "analysis/explain/finding.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <vector>

#include "analysis/explain/explanation.h"
#include "analysis/testing/faulty_run.h"

namespace pipetrace {
namespace {

using test::completedRun;
using test::costsOf;
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
  const Explanation run = explainRun(timeline, {});
  const auto isTransfer = [](const Finding& f) { return f.bubbleClass == BubbleClass::kTransfer; };
  ASSERT_EQ(std::count_if(run.findings.begin(), run.findings.end(), isTransfer), 1);
  EXPECT_THAT(run.findings[0].text, HasSubstr("messages take 5.000 ms on links like the others"));
  Nanoseconds all = 0;
  for (const ExplainedRank& rank : run.ranks) {
    all += rank.bubbles[static_cast<std::size_t>(BubbleClass::kTransfer)];
  }
  EXPECT_EQ(run.findings[0].time, all);
}

TEST(Findings, EachHasTheLongestBubblesOfItsClasses) {
  const Plan plan = buildSchedule("1F1B", {4, 8});
  Costs costs = costsOf(plan, 1);
  test::scaleRank(costs, plan, 2, 1.3);
  const Timeline timeline = completedRun(plan, costs);
  const Explanation run = explainRun(timeline, {});
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
    for (const auto& [rank, bubble] : finding.examples) given.push_back(bubble.end - bubble.begin);
    // Transfers are of one of several links that are alike.
    const bool isOfAll = finding.bubbleClass != BubbleClass::kTransfer;
    EXPECT_TRUE(!isOfAll || given == lengths) << finding.text;
    EXPECT_EQ(given.size(), kMostExamples);
  }
}

std::vector<std::string> sentencesOf(const Timeline& timeline) {
  std::vector<std::string> texts;
  for (const Finding& finding : explainRun(timeline, {}).findings) texts.push_back(finding.text);
  return texts;
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
  const Explanation run = explainRun(timeline, {});
  ASSERT_FALSE(run.findings.empty());
  EXPECT_EQ(run.findings[0].text,
            "messages between ranks 1 and 2 arrive before they are sent, by 4.000 ms in the "
            "median: clocks differ, so that idle time may have the wrong culprits");
  EXPECT_EQ(run.findings[0].severity, Severity::kWarning);
  for (const Finding& finding : run.findings) {
    EXPECT_THAT(finding.text, Not(HasSubstr(" -"))) << "no number is negative";
  }
}

TEST(Findings, IdleTimeOfTheScheduleIsOfSeveralClasses) {
  const Plan plan = buildSchedule("1F1B", {4, 8});
  Costs costs = costsOf(plan, 0);
  costs.lr = 0;
  costs.optimizer = kNsPerMs / 10;
  const Explanation run = explainRun(completedRun(plan, costs), {});
  // The optimizers have 0.1 ms of the 90 ms that a step leaves idle, which nobody wants to know.
  ASSERT_EQ(run.findings.size(), 1U);
  EXPECT_THAT(run.findings[0].text, HasSubstr("the schedule itself leaves"));
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
                       "evaluation between steps)"));
  // With one log of two, warm-up and drain are between the steps of that rank.
  std::erase_if(timeline.tracks, [](const Track& track) { return track.rank == 1; });
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

}  // namespace
}  // namespace pipetrace
