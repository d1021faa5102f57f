#include "analysis/causes/pauses.h"

#include <gmock/gmock.h>

#include "analysis/present/finding_sentences.h"
#include "analysis/testing/hand_made_timeline.h"
#include "analysis/testing/run_of_timeline.h"

namespace pipetrace {
namespace {

using testing::IsEmpty;
using testing::SizeIs;
using Reason = Pauses::Reason;

constexpr Nanoseconds kMs = kNsPerMs;

std::string sentenceOf(const Pauses& pauses) {
  Finding finding{.kind = FindingKind::kPauses};
  finding.time = pauses.cost;
  finding.shareOfSteps = 0.25;
  finding.facts = pauses;
  return findingText(finding);
}

/// Two ranks whose steps of 100 ms are `pause` apart, but after step 2, where they are 500 ms
/// apart: from 100 · 3 + 2 · pause on. Times in ms.
class PausesTest : public testing::Test {
 protected:
  explicit PausesTest(Nanoseconds pause = 1) : pause_(pause) { makeSteps(); }

  void makeSteps() {
    made_ = {};
    for (int step = 0; step < 6; ++step) {
      for (const int rank : {0, 1}) {
        const Nanoseconds begin = beginOf(step) * kMs;
        made_.add(rank, JobKind::kForward, begin, begin + 100 * kMs, step).stage = rank;
      }
    }
  }

  Nanoseconds beginOf(int step) const { return step * (100 + pause_) + (step > 2 ? 500 : 0); }
  Nanoseconds stall() const { return beginOf(2) + 100; }  // its begin

  Event& add(int rank, JobKind kind, Nanoseconds begin, Nanoseconds end, const char* name = "",
             const char* lane = kComputeLane.data()) {
    Event& event = made_.add(rank, kind, begin * kMs, end * kMs, -1, -1, lane);
    event.name = made_.timeline.strings.intern(name);
    return event;
  }

  std::vector<Pauses> pauses() {
    made_.timeline.sort();
    return pausesOf(made_.timeline, summarize(made_.timeline));
  }

  Nanoseconds pause_;
  HandMadeTimeline made_;
};

TEST_F(PausesTest, ARankThatAllOthersWaitForAtTheEndOfAPauseDoesSomethingElse) {
  add(1, JobKind::kRecvForward, stall() + 10, stall() + 501, "", "recv");
  EXPECT_THAT(sentenceOf(pauses().at(0)),
              testing::HasSubstr("; the others wait for messages by then, so it is rank 0 that "
                                 "does something else (data"));
  makeSteps();
  add(1, JobKind::kRecvForward, stall() + 400, stall() + 501, "", "recv");
  EXPECT_FALSE(pauses().at(0).areOthersWaiting) << "it comes to wait late, too";
}

TEST_F(PausesTest, PauseWithoutAWordInTheLogHasNoReason) {
  const auto found = pauses();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].step, 2);
  EXPECT_EQ(found[0].begin, stall() * kMs);
  EXPECT_EQ(found[0].time, 501 * kMs);
  EXPECT_EQ(found[0].reason, Reason::kUnknown);
  EXPECT_EQ(sentenceOf(found[0]),
            "the run stands still after step 2 for 501.0 ms (data, a checkpoint or an evaluation "
            "between steps): pauses cost 25.0 % of all ranks' time");
}

/// Steps are 20 ms apart: as long as an optimizer may take that nothing records.
class UsualPausesTest : public PausesTest {
 protected:
  UsualPausesTest() : PausesTest(20) {}
};

TEST_F(UsualPausesTest, APauseThatIsFarLongerThanTheUsualOnesCountsApartFromThem) {
  const auto found = pauses();
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[0].step, 2);
  EXPECT_EQ(found[0].count, 1);
  EXPECT_EQ(found[0].time, 520 * kMs);
  EXPECT_EQ(found[0].usual, 20 * kMs);
  EXPECT_THAT(sentenceOf(found[0]), testing::StartsWith("the run stands still after step 2 for "
                                                        "520.0 ms (after others for 20.00 ms)"));
  EXPECT_EQ(found[0].steps, 5);
  EXPECT_EQ(found[1].count, 4);
  EXPECT_EQ(found[1].steps, 4) << "after all others";
  EXPECT_EQ(found[1].time, 80 * kMs);
}

TEST(OverlappingSteps, APauseBeginsWhereTheNextStepUsuallyWould) {
  // Rank 1 updates its weights while rank 0 has begun the next step, 40 ms earlier. After step 2
  // rank 0 begins 160 ms later than usual.
  HandMadeTimeline made;
  for (int step = 0; step < 6; ++step) {
    const Nanoseconds begin = (step * 100 + (step > 2 ? 160 : 0)) * kMs;
    made.add(0, JobKind::kForward, begin, begin + 100 * kMs, step).stage = 0;
    made.add(1, JobKind::kForward, begin + 10 * kMs, begin + 90 * kMs, step).stage = 1;
    made.add(1, JobKind::kOptimizer, begin + 90 * kMs, begin + 140 * kMs, step);
  }
  made.timeline.sort();
  const std::vector<Pauses> found = pausesOf(made.timeline, summarize(made.timeline));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].begin, 300 * kMs);
  EXPECT_EQ(found[0].time, 160 * kMs);
  EXPECT_EQ(found[0].cost, 320 * kMs) << "of both ranks";
}

TEST_F(PausesTest, RankThatLoadsDataIsNamed) {
  add(0, JobKind::kData, stall(), stall() + 40);
  add(1, JobKind::kData, stall() + 10, stall() + 490);
  const auto found = pauses();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].reason, Reason::kData);
  EXPECT_EQ(sentenceOf(found[0]),
            "rank 1's data loader: 480.0 ms a step in 1 of 5 steps: pauses between steps cost "
            "25.0 % of all ranks' time");
}

TEST_F(PausesTest, EventsThatSaveACheckpointAreNamed) {
  for (const char* name : {"Save_Checkpoint", "torch.save", "write_ckpt"}) {
    for (const JobKind kind : {JobKind::kDefault, JobKind::kOther}) {
      makeSteps();
      add(0, kind, stall() + 1, stall() + 301, name, "host");
      add(0, kind, stall() + 201, stall() + 401, "saved_tensors", "host");
      const auto found = pauses();
      ASSERT_THAT(found, SizeIs(1));
      EXPECT_EQ(found[0].reason, Reason::kCheckpoint) << name;
      EXPECT_EQ(found[0].rank, 0);
      EXPECT_EQ(found[0].work, name);
      EXPECT_EQ(found[0].workTime, 300 * kMs);
    }
  }
}

TEST_F(PausesTest, AJobThatCopiesForACheckpointIsNamed) {
  add(1, JobKind::kCheckpoint, stall() + 1, stall() + 401);
  EXPECT_EQ(sentenceOf(pauses().at(0)),
            "the run stands still after step 2 for 501.0 ms; rank 1 saves a checkpoint "
            "(checkpoint) for 400.0 ms: 25.0 % of all ranks' time");
}

TEST_F(PausesTest, WorkCountsOnceAndNeedsMostOfThePause) {
  add(0, JobKind::kOther, stall(), stall() + 200, "save", "host");
  add(0, JobKind::kOther, stall() + 50, stall() + 200, "save", "disk");
  EXPECT_EQ(pauses().at(0).reason, Reason::kUnknown) << "200 of 501 ms";
  add(0, JobKind::kOther, stall() + 180, stall() + 260, "save", "disk");
  EXPECT_EQ(pauses().at(0).workTime, 260 * kMs);
}

TEST_F(PausesTest, WorkThatGoesOnBeyondThePauseIsNoReason) {
  add(0, JobKind::kOther, 0, beginOf(5) + 100, "train_and_save", "host");
  EXPECT_EQ(pauses().at(0).reason, Reason::kUnknown);
}

TEST_F(PausesTest, LongestOfSeveralRanksIsNamed) {
  add(0, JobKind::kOther, stall(), stall() + 400, "save", "host");
  add(1, JobKind::kOther, stall(), stall() + 450, "save", "host");
  EXPECT_EQ(
      sentenceOf(pauses().at(0)),
      "the run stands still after step 2 for 501.0 ms; rank 1, the longest of 2 ranks, saves a "
      "checkpoint (save) for 450.0 ms: 25.0 % of all ranks' time");
}

TEST_F(PausesTest, ReplicasPauseOnceAndEachRankPays) {
  for (auto& [rank, info] : made_.timeline.ranks) info.dataParallelIndex = rank;
  const auto found = pauses();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].count, 1);
  EXPECT_EQ(found[0].time, 501 * kMs);
  EXPECT_EQ(found[0].cost, 2 * 501 * kMs);
}

TEST_F(PausesTest, APipelineThatWaitsForAnotherOnesStepDoesNotPause) {
  for (auto& [rank, info] : made_.timeline.ranks) info.dataParallelIndex = rank;
  add(1, JobKind::kOptimizer, stall(), stall() + 400).step = 2;
  const auto found = pauses();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].begin, (stall() + 400) * kMs);
  EXPECT_EQ(found[0].time, 101 * kMs);
  EXPECT_EQ(found[0].cost, 2 * 101 * kMs);
}

/// Each pause is long.
class AllPausesTest : public PausesTest {
 protected:
  AllPausesTest() : PausesTest(50) {}
};

TEST_F(AllPausesTest, PausesInWhichSeveralRanksLoadDataAreOneFindingWhoeverTakesLonger) {
  for (int step = 0; step < 5; ++step) {
    const Nanoseconds end = beginOf(step) + 100;
    const Nanoseconds length = beginOf(step + 1) - end;
    add(0, JobKind::kData, end, end + length - (step % 2 == 0 ? 1 : 3));
    add(1, JobKind::kData, end, end + length - 2);
  }
  const auto found = pauses();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].count, 5);
  EXPECT_EQ(found[0].ranks, (std::vector<int>{0, 1}));
  EXPECT_THAT(sentenceOf(found[0]),
              testing::HasSubstr("data loaders of 2 ranks: 148.6 ms a step, the longest on rank "));
}

TEST_F(AllPausesTest, PausesWithOneReasonAreOneFinding) {
  for (int step = 0; step < 5; ++step) {
    const Nanoseconds end = beginOf(step) + 100;
    if (step != 2) add(1, JobKind::kData, end, end + 40);
  }
  add(0, JobKind::kOther, stall(), stall() + 500, "save", "host");
  const auto found = pauses();
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[0].reason, Reason::kCheckpoint);
  EXPECT_EQ(found[0].time, 550 * kMs);
  EXPECT_EQ(sentenceOf(found[1]),
            "rank 1's data loader: 40.00 ms a step in 4 of 5 steps: pauses between steps cost "
            "25.0 % of all ranks' time");
}

/// Steps of 100 ms, 10 ms apart, with 2 steps of `phase` after the third, from 302 + 18 to 520 ms.
Timeline stepsAround(Phase phase) {
  HandMadeTimeline made;
  Nanoseconds begin = 0;
  for (const std::int32_t step : {0, 1, 2, 5, 6, 7}) {
    if (step == 5) begin = 530;
    made.add(0, JobKind::kForward, begin * kMs, (begin + 100) * kMs, step);
    begin += 101;
  }
  made.add(0, JobKind::kForward, 320 * kMs, 400 * kMs, 3).phase = phase;
  made.add(0, JobKind::kForward, 410 * kMs, 520 * kMs, 4).phase = phase;
  made.timeline.sort();
  return made.timeline;
}

TEST(PausesOfPhases, AnEvaluationBetweenStepsIsNamedWithItsSteps) {
  for (const auto& [phase, reason, name] :
       {std::tuple(Phase::kEvaluate, Reason::kEvaluation, "evaluation"),
        std::tuple(Phase::kPredict, Reason::kPrediction, "prediction")}) {
    const Timeline run = stepsAround(phase);
    const auto found = pausesOf(run, summarize(run));
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_EQ(found[0].reason, reason);
    EXPECT_EQ(found[0].step, 2);
    EXPECT_EQ(found[0].time, (530 - 302) * kMs);
    EXPECT_EQ(found[0].workTime, 200 * kMs);
    ASSERT_NE(found[0].next, nullptr);
    EXPECT_EQ(found[0].next->step, 5);
    EXPECT_EQ(sentenceOf(found[0]), "training pauses after step 2 for 228.0 ms; the " +
                                        std::string(name) +
                                        " (steps 3 to 4) takes 200.0 ms of that");
  }
}

TEST(NoPauses, StepsThatFollowEachOtherHaveNone) {
  HandMadeTimeline made;
  for (int step = 0; step < 3; ++step) {
    made.add(0, JobKind::kForward, step * 1000, step * 1000 + 995, step);
  }
  EXPECT_THAT(pausesOf(made.timeline, summarize(made.timeline)), IsEmpty());
}

}  // namespace
}  // namespace pipetrace
