#include "analysis/run/steps/selection.h"

#include <gmock/gmock.h>

#include "analysis/testing/diagnostic_texts.h"
#include "analysis/testing/hand_made_timeline.h"
#include "analysis/testing/run_of_timeline.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class SelectionTest : public testing::Test {
 protected:
  /// Ranks 0, 1 and 4 with steps 0 to 2 of a forward job, a send and a job of an unknown type.
  SelectionTest() {
    for (const int rank : {0, 1, 4}) {
      for (int step = 0; step < 3; ++step) {
        const Nanoseconds at = 100 * step + rank;
        made_.add(rank, JobKind::kForward, at, at + 50, step);
        made_.add(rank, JobKind::kSendForward, at + 50, at + 60, step, 0, kSendLane);
        made_.add(rank, JobKind::kOther, at + 60, at + 70, step).name =
            made_.timeline.strings.intern("mine");
      }
      made_.add(rank, JobKind::kCopy, 500, 510, kNotGiven, 0, "copy");
      made_.timeline.counters.push_back({rank, "loss", "", {{5, 1}, {105, 2}, {205, 3}}});
    }
    made_.timeline.sort();
  }

  Timeline part(const Selection& selection) const { return selected(made_.timeline, selection); }

  static std::vector<std::string> eventsOf(const Timeline& timeline) {
    std::vector<std::string> list;
    for (const Track& track : timeline.tracks) {
      for (const Event& event : track.events) {
        list.push_back(std::to_string(track.rank) + " " + std::string(logName(event.kind)) + " " +
                       std::to_string(event.step));
      }
    }
    return list;
  }

  std::vector<std::string> reported(const Selection& selection) const {
    Diagnostics diagnostics;
    checkSelection(made_.timeline, selection, diagnostics);
    return textsOf(diagnostics);
  }

  std::string refused(const Selection& selection) const {
    try {
      reported(selection);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

  HandMadeTimeline made_;
};

TEST_F(SelectionTest, StepsAreHalfOpen) {
  EXPECT_THAT(eventsOf(part({.steps = {{1, 2}}, .ranks = {{0, 1}}})),
              ElementsAre("0 forward 1", "0 other 1", "0 send_forward 1"));
  EXPECT_EQ(eventsOf(part({.steps = {{1}}})).size(), 3U * 2 * 3);
  EXPECT_EQ(eventsOf(part({.steps = {{0, 2}}})).size(), 3U * 2 * 3);
}

TEST_F(SelectionTest, CountersAreThoseOfTheStepsTime) {
  const Timeline timeline = part({.steps = {{1, 2}}});
  ASSERT_EQ(timeline.counters.size(), 3U);
  ASSERT_EQ(timeline.counters[0].samples.size(), 1U);
  EXPECT_EQ(timeline.counters[0].samples[0].value, 2);
}

TEST_F(SelectionTest, ARankIsSelectedWithAllItsLanesAndCounters) {
  const Timeline timeline = part({.ranks = {{1, 2}, {4, 9}}});
  EXPECT_EQ(eventsOf(timeline).size(), 2U * 10);
  ASSERT_EQ(timeline.ranks.size(), 2U);
  EXPECT_TRUE(timeline.ranks.contains(1) && timeline.ranks.contains(4));
  ASSERT_EQ(timeline.counters.size(), 2U);
  EXPECT_EQ(timeline.counters[1].rank, 4);
}

TEST_F(SelectionTest, TypesAreSkippedByTheirNameInTheLog) {
  EXPECT_THAT(eventsOf(part({.ranks = {{0, 1}}, .skippedTypes = {"forward", "mine", "copy"}})),
              ElementsAre("0 send_forward 0", "0 send_forward 1", "0 send_forward 2"));
  EXPECT_EQ(eventsOf(part({.skippedTypes = {"none"}})).size(), 30U);
}

TEST_F(SelectionTest, ASelectionThatOccursCausesNoWarning) {
  EXPECT_THAT(reported({}), IsEmpty());
  EXPECT_THAT(
      reported({.steps = {{1}}, .ranks = {{0, 2}, {4, 5}}, .skippedTypes = {"copy", "mine"}}),
      IsEmpty());
  EXPECT_THAT(reported({.skippedTypes = {"none"}}), IsEmpty());
  EXPECT_THAT(reported({.skippedTypes = {"bubble"}}), IsEmpty());  // they are made later
}

TEST_F(SelectionTest, SelectedNumbersAndTypesThatDoNotOccurAreReported) {
  EXPECT_THAT(
      reported({.steps = {{1, 7}}, .ranks = {{1, 2}, {7, 8}}, .skippedTypes = {"lr", "typo"}}),
      ElementsAre(
          "warning: --steps names steps 1 to 6, of which not all occur: the run has 3 "
          "steps from 0 to 2",
          "warning: --ranks names rank 7, which does not occur: the run has ranks 0, 1 and 4",
          AllOf(HasSubstr("--skip names the type lr"), HasSubstr("copy, forward, mine")),
          HasSubstr("--skip names the type typo")));
}

TEST_F(SelectionTest, StepsWithGapsAreListed) {
  made_.add(0, JobKind::kForward, 700, 750, 7);
  made_.timeline.sort();
  EXPECT_THAT(refused({.steps = {{3, 4}}}), HasSubstr("; the run has 4 steps: 0 to 2 and 7"));
}

TEST_F(SelectionTest, ASelectionOfNothingIsAnErrorThatListsWhatOccurs) {
  EXPECT_THAT(
      refused({.steps = {{3}}}),
      HasSubstr("nothing is left of the input by --steps; the run has 3 steps from 0 to 2"));
  EXPECT_THAT(refused({.steps = {{3}}, .ranks = {{0, 1}}, .skippedTypes = {"lr"}}),
              HasSubstr("by --steps, --ranks and --skip; "));
  EXPECT_THAT(reported({.ranks = {{0, 1}, {6, 8}}}),
              ElementsAre(HasSubstr("--ranks names ranks 6 to 7, none of which occurs: ")));
  EXPECT_THAT(refused({.ranks = {{2, 4}}}), HasSubstr("ranks 0, 1 and 4"));
  EXPECT_THAT(refused({.steps = {{0, 1}}, .skippedTypes = {"forward", "send_forward", "mine"}}),
              HasSubstr("copy, forward, mine, send_forward"));
}

TEST_F(SelectionTest, ARunWithoutStepsOrWithOneSaysSo) {
  for (Track& track : made_.timeline.tracks) {
    for (Event& event : track.events) event.step = kNotGiven;
  }
  EXPECT_EQ(refused({.steps = {{3, 4}}}),
            "nothing is left of the input by --steps; the run has no steps");
  made_.timeline.tracks[0].events[0].step = 7;
  EXPECT_EQ(refused({.steps = {{3, 4}}}),
            "nothing is left of the input by --steps; the run has step 7 only");
}

TEST_F(SelectionTest, NumbersOfAStepAreThoseOfTheWholeRun) {
  // Steps begin at 0 and 100; 50 of 51 or 54 ns are busy on each of three ranks.
  const RunSummary whole = summarize(made_.timeline);
  const RunSummary one = selected(whole, {.steps = {{1, 2}}});
  ASSERT_EQ(one.steps.size(), 1U);
  EXPECT_EQ(one.steps[0].begin, 100);
  EXPECT_EQ(one.steps[0].windowEnd, 154);
  EXPECT_EQ(one.steps[0].betweenSteps, 46);
  EXPECT_DOUBLE_EQ(one.bubbleRatio, 1 - 150.0 / (3 * 54));
  ASSERT_EQ(one.ranks.size(), 3U);
  EXPECT_EQ(one.ranks[0].busy, 50);
  EXPECT_EQ(one.ranks[0].idle, 4);
}

TEST_F(SelectionTest, SumsAreOverTheRanksThatAreLeft) {
  const RunSummary four = selected(summarize(made_.timeline), {.ranks = {{4, 5}}});
  ASSERT_EQ(four.ranks.size(), 1U);
  EXPECT_EQ(four.ranks[0].rank, 4);
  EXPECT_EQ(four.ranks[0].busy, 3 * 50);
  ASSERT_EQ(four.steps.size(), 3U);
  EXPECT_EQ(four.steps[0].begin, 0);  // rank 0's, whose window it is
  EXPECT_DOUBLE_EQ(four.steps[0].bubbleRatio, 4.0 / 54);
  EXPECT_DOUBLE_EQ(four.bubbleRatio, 4.0 / 54);
}

}  // namespace
}  // namespace pipetrace
