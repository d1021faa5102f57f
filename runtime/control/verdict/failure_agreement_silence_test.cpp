// One rank's view of others that are silent, also after a pause of its own.
#include <gtest/gtest.h>

#include "runtime/control/testing/plain_status.h"
#include "runtime/control/verdict/control_message.h"
#include "runtime/control/verdict/failure_agreement.h"
#include "runtime/control/verdict/verdict.h"
#include "trace/nanoseconds.h"

namespace pipetrace {
namespace {

TEST(JurySilence, ARankThatHearsOfNobodyBlamesItself) {
  PlanWords words;
  Jury jury(1, 3, {}, words, 0);
  jury.tick(9 * kNsPerSecond);
  jury.tick(10 * kNsPerSecond);
  ASSERT_TRUE(jury.verdict());
  EXPECT_EQ(jury.verdict()->kind, CauseKind::kCutOff);
  EXPECT_EQ(jury.verdict()->rank, 1);
}

TEST(JurySilence, ARankWhoseControlThreadSleptBlamesNobody) {
  PlanWords words;
  Jury jury(1, 3, {}, words, 0);
  jury.slept(60 * kNsPerSecond, 60 * kNsPerSecond);
  jury.tick(60 * kNsPerSecond);
  EXPECT_FALSE(jury.verdict());
  EXPECT_FALSE(jury.isAlarmed());
}

TEST(JurySilence, ARankThatFallsSilentAfterAPauseIsFoundAsSoonAsAnyOther) {
  PlanWords words;
  Jury jury(1, 3, {}, words, 0);
  jury.heard(0, {}, 60 * kNsPerSecond);  // what came during the pause is read first
  jury.heard(2, {}, 60 * kNsPerSecond);
  jury.slept(60 * kNsPerSecond, 60 * kNsPerSecond);
  jury.heard(0, {}, 68 * kNsPerSecond - kNsPerMs);
  jury.tick(68 * kNsPerSecond - 1);
  EXPECT_FALSE(jury.isAlarmed());
  jury.tick(68 * kNsPerSecond);
  const auto messages = jury.takeMessages();
  ASSERT_EQ(messages.size(), 2U) << "8 s after the last beat";
  EXPECT_EQ(messages[0].cause.kind, CauseKind::kSilent);
  EXPECT_EQ(messages[0].cause.rank, 2);
  EXPECT_EQ(messages[0].cause.lasted, 8 * kNsPerSecond);
  EXPECT_EQ(messages[1].word, ControlWord::kMissed);
  EXPECT_EQ(messages[1].missed, std::vector<int>{2});
}

TEST(JurySilence, AnAlarmThatIsReadAfterAPauseIsDecidedAsSoonAsAnyOther) {
  PlanWords words;
  Jury jury(0, 4, {}, words, 0);
  ControlMessage alarm;
  alarm.word = ControlWord::kNoticed;
  alarm.cause.kind = CauseKind::kStalled;
  alarm.cause.rank = 2;
  jury.heard(1, alarm, 60 * kNsPerSecond);
  jury.slept(60 * kNsPerSecond, 60 * kNsPerSecond);
  jury.heard(3, {}, 60 * kNsPerSecond);
  jury.tick(60 * kNsPerSecond + 300 * kNsPerMs - 1);
  EXPECT_FALSE(jury.verdict()) << "rank 3 may still say something";
  jury.tick(60 * kNsPerSecond + 300 * kNsPerMs);
  ASSERT_TRUE(jury.verdict());
  EXPECT_EQ(jury.verdict()->rank, 2);
}

TEST(JurySilence, ALostConnectionHasItsWholeTimeToBeExplainedBesideAPause) {
  PlanWords words;
  Jury jury(0, 3, {}, words, 0);
  jury.lostPeer("the socket broke", kNsPerSecond);
  jury.slept(60 * kNsPerSecond, 62 * kNsPerSecond);  // of 1.5 s, 1 s has passed at most
  jury.tick(62 * kNsPerSecond + 500 * kNsPerMs - 1);
  EXPECT_TRUE(jury.takeMessages().empty());
  jury.tick(62 * kNsPerSecond + 500 * kNsPerMs);
  const auto messages = jury.takeMessages();
  ASSERT_FALSE(messages.empty());
  EXPECT_EQ(messages[0].cause.kind, CauseKind::kLostPeer);
}

TEST(JurySilence, AWaitThatLooksVainIsBlamedOnlyAfterAsMuchTimeBesideAPause) {
  PlanWords words;
  JuryLimits limits;
  limits.silence = 0;
  limits.stall.stepTimeout = 5 * kNsPerSecond;
  Jury jury(0, 2, limits, words, 0);
  jury.own(testing::waiting(4, 1, 7, 6 * kNsPerSecond));  // rank 1 sends nothing any more
  ControlMessage end;
  end.word = ControlWord::kFinished;
  jury.heard(1, end, 0);
  jury.tick(0);
  jury.slept(60 * kNsPerSecond, 60 * kNsPerSecond);
  jury.tick(60 * kNsPerSecond);
  jury.tick(61 * kNsPerSecond - 1);
  EXPECT_TRUE(jury.takeMessages().empty());
  jury.tick(61 * kNsPerSecond);
  const auto messages = jury.takeMessages();
  ASSERT_FALSE(messages.empty());
  EXPECT_EQ(messages[0].cause.kind, CauseKind::kMispaired);
  EXPECT_EQ(messages[0].cause.rank, 0);
}

TEST(JurySilence, ARankThatLearnsOfSilenceSaysOfWhomItHasNotHeard) {
  PlanWords words;
  for (const bool hears : {false, true}) {
    Jury jury(1, 4, {}, words, 0);
    for (const int rank : {0, 3}) jury.heard(rank, {}, 7 * kNsPerSecond);
    if (hears) jury.heard(2, {}, 7 * kNsPerSecond);
    ControlMessage missed;
    missed.word = ControlWord::kMissed;
    missed.missed = {2};
    jury.heard(0, missed, 7 * kNsPerSecond);
    EXPECT_TRUE(jury.isAlarmed());
    jury.tick(7 * kNsPerSecond);
    jury.tick(7 * kNsPerSecond + kNsPerMs);
    const auto messages = jury.takeMessages();
    ASSERT_EQ(messages.size(), 1U) << "once, and it is not silence of 8 s yet";
    EXPECT_EQ(messages[0].word, ControlWord::kMissed);
    EXPECT_EQ(messages[0].missed, hears ? std::vector<int>{} : std::vector<int>{2});
  }
}

TEST(JurySilence, RanksThatFellSilentSomeBeatsApartAreMissedTogether) {
  PlanWords words;
  Jury jury(0, 5, {}, words, 0);
  jury.heard(2, {}, 300 * kNsPerMs);
  jury.heard(3, {}, 2 * kNsPerSecond);  // by itself, later
  jury.heard(4, {}, 8 * kNsPerSecond);
  jury.tick(8 * kNsPerSecond);
  const auto messages = jury.takeMessages();
  ASSERT_EQ(messages.size(), 2U);
  EXPECT_EQ(messages[1].missed, (std::vector<int>{1, 2}));
}

// Rank 3 of 4 is silent. Rank 0 decides when all have told, or after 0.8 s; rank 1 after 1.3 s.
TEST(JurySilence, RanksWaitForWhatOthersHaveHeardButNotForEver) {
  PlanWords words;
  for (const int self : {0, 1}) {
    const Nanoseconds limit = (self == 0 ? 800 : 1300) * kNsPerMs;
    Jury jury(self, 4, {}, words, 0);
    for (const Nanoseconds passed : {Nanoseconds{0}, limit - 1, limit}) {
      const Nanoseconds now = 8 * kNsPerSecond + passed;
      for (const int other : {1 - self, 2}) jury.heard(other, {}, now);
      jury.tick(now);
      EXPECT_EQ(jury.verdict().has_value(), passed == limit) << self << " after " << passed;
    }
    EXPECT_EQ(jury.verdict()->rank, 3);
  }
}

}  // namespace
}  // namespace pipetrace
