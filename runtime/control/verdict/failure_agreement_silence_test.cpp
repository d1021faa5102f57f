// One rank's view of others that are silent, also after a pause of its own.
#include <gtest/gtest.h>

#include "runtime/control/testing/plain_status.h"
#include "runtime/control/verdict/control_message.h"
#include "runtime/control/verdict/failure_agreement.h"
#include "runtime/control/verdict/verdict.h"
#include "trace/nanoseconds.h"

namespace pipetrace {
namespace {

TEST(FailureAgreementSilence, ARankThatHearsOfNobodyBlamesItself) {
  PlanWords words;
  FailureAgreement agreement(1, 3, {}, words, 0);
  agreement.tick(9 * kNsPerSecond);
  agreement.tick(10 * kNsPerSecond);
  ASSERT_TRUE(agreement.verdict());
  EXPECT_EQ(agreement.verdict()->kind, CauseKind::kCutOff);
  EXPECT_EQ(agreement.verdict()->rank, 1);
}

TEST(FailureAgreementSilence, ARankWhoseControlThreadSleptBlamesNobody) {
  PlanWords words;
  FailureAgreement agreement(1, 3, {}, words, 0);
  agreement.slept(60 * kNsPerSecond, 60 * kNsPerSecond);
  agreement.tick(60 * kNsPerSecond);
  EXPECT_FALSE(agreement.verdict());
  EXPECT_FALSE(agreement.isAlarmed());
}

TEST(FailureAgreementSilence, ARankThatFallsSilentAfterAPauseIsFoundAsSoonAsAnyOther) {
  PlanWords words;
  FailureAgreement agreement(1, 3, {}, words, 0);
  agreement.heard(0, {}, 60 * kNsPerSecond);  // what came during the pause is read first
  agreement.heard(2, {}, 60 * kNsPerSecond);
  agreement.slept(60 * kNsPerSecond, 60 * kNsPerSecond);
  agreement.heard(0, {}, 68 * kNsPerSecond - kNsPerMs);
  agreement.tick(68 * kNsPerSecond - 1);
  EXPECT_FALSE(agreement.isAlarmed());
  agreement.tick(68 * kNsPerSecond);
  const auto messages = agreement.takeMessages();
  ASSERT_EQ(messages.size(), 2U) << "8 s after the last beat";
  EXPECT_EQ(messages[0].cause.kind, CauseKind::kSilent);
  EXPECT_EQ(messages[0].cause.rank, 2);
  EXPECT_EQ(messages[0].cause.lasted, 8 * kNsPerSecond);
  EXPECT_EQ(messages[1].word, ControlWord::kMissed);
  EXPECT_EQ(messages[1].missed, std::vector<int>{2});
}

TEST(FailureAgreementSilence, AnAlarmThatIsReadAfterAPauseIsDecidedAsSoonAsAnyOther) {
  PlanWords words;
  FailureAgreement agreement(0, 4, {}, words, 0);
  ControlMessage alarm;
  alarm.word = ControlWord::kNoticed;
  alarm.cause.kind = CauseKind::kStalled;
  alarm.cause.rank = 2;
  agreement.heard(1, alarm, 60 * kNsPerSecond);
  agreement.slept(60 * kNsPerSecond, 60 * kNsPerSecond);
  agreement.heard(3, {}, 60 * kNsPerSecond);
  agreement.tick(60 * kNsPerSecond + 300 * kNsPerMs - 1);
  EXPECT_FALSE(agreement.verdict()) << "rank 3 may still say something";
  agreement.tick(60 * kNsPerSecond + 300 * kNsPerMs);
  ASSERT_TRUE(agreement.verdict());
  EXPECT_EQ(agreement.verdict()->rank, 2);
}

TEST(FailureAgreementSilence, ALostConnectionHasItsWholeTimeToBeExplainedBesideAPause) {
  PlanWords words;
  FailureAgreement agreement(0, 3, {}, words, 0);
  agreement.lostPeer("the socket broke", kNsPerSecond);
  agreement.slept(60 * kNsPerSecond, 62 * kNsPerSecond);  // of 1.5 s, 1 s has passed at most
  agreement.tick(62 * kNsPerSecond + 500 * kNsPerMs - 1);
  EXPECT_TRUE(agreement.takeMessages().empty());
  agreement.tick(62 * kNsPerSecond + 500 * kNsPerMs);
  const auto messages = agreement.takeMessages();
  ASSERT_FALSE(messages.empty());
  EXPECT_EQ(messages[0].cause.kind, CauseKind::kLostPeer);
}

TEST(FailureAgreementSilence, AWaitThatLooksVainIsBlamedOnlyAfterAsMuchTimeBesideAPause) {
  PlanWords words;
  FailureLimits limits;
  limits.silence = 0;
  limits.stall.stepTimeout = 5 * kNsPerSecond;
  FailureAgreement agreement(0, 2, limits, words, 0);
  agreement.own(testing::waiting(4, 1, 7, 6 * kNsPerSecond));  // rank 1 sends nothing any more
  ControlMessage end;
  end.word = ControlWord::kFinished;
  agreement.heard(1, end, 0);
  agreement.tick(0);
  agreement.slept(60 * kNsPerSecond, 60 * kNsPerSecond);
  agreement.tick(60 * kNsPerSecond);
  agreement.tick(61 * kNsPerSecond - 1);
  EXPECT_TRUE(agreement.takeMessages().empty());
  agreement.tick(61 * kNsPerSecond);
  const auto messages = agreement.takeMessages();
  ASSERT_FALSE(messages.empty());
  EXPECT_EQ(messages[0].cause.kind, CauseKind::kMispaired);
  EXPECT_EQ(messages[0].cause.rank, 0);
}

TEST(FailureAgreementSilence, ARankThatLearnsOfSilenceSaysOfWhomItHasNotHeard) {
  PlanWords words;
  for (const bool hears : {false, true}) {
    FailureAgreement agreement(1, 4, {}, words, 0);
    for (const int rank : {0, 3}) agreement.heard(rank, {}, 7 * kNsPerSecond);
    if (hears) agreement.heard(2, {}, 7 * kNsPerSecond);
    ControlMessage missed;
    missed.word = ControlWord::kMissed;
    missed.missed = {2};
    agreement.heard(0, missed, 7 * kNsPerSecond);
    EXPECT_TRUE(agreement.isAlarmed());
    agreement.tick(7 * kNsPerSecond);
    agreement.tick(7 * kNsPerSecond + kNsPerMs);
    const auto messages = agreement.takeMessages();
    ASSERT_EQ(messages.size(), 1U) << "once, and it is not silence of 8 s yet";
    EXPECT_EQ(messages[0].word, ControlWord::kMissed);
    EXPECT_EQ(messages[0].missed, hears ? std::vector<int>{} : std::vector<int>{2});
  }
}

TEST(FailureAgreementSilence, RanksThatFellSilentSomeBeatsApartAreMissedTogether) {
  PlanWords words;
  FailureAgreement agreement(0, 5, {}, words, 0);
  agreement.heard(2, {}, 300 * kNsPerMs);
  agreement.heard(3, {}, 2 * kNsPerSecond);  // by itself, later
  agreement.heard(4, {}, 8 * kNsPerSecond);
  agreement.tick(8 * kNsPerSecond);
  const auto messages = agreement.takeMessages();
  ASSERT_EQ(messages.size(), 2U);
  EXPECT_EQ(messages[1].missed, (std::vector<int>{1, 2}));
}

// Rank 3 of 4 is silent. Rank 0 decides when all have told, or after 0.8 s; rank 1 after 1.3 s.
TEST(FailureAgreementSilence, RanksWaitForWhatOthersHaveHeardButNotForEver) {
  PlanWords words;
  for (const int self : {0, 1}) {
    const Nanoseconds limit = (self == 0 ? 800 : 1300) * kNsPerMs;
    FailureAgreement agreement(self, 4, {}, words, 0);
    for (const Nanoseconds passed : {Nanoseconds{0}, limit - 1, limit}) {
      const Nanoseconds now = 8 * kNsPerSecond + passed;
      for (const int other : {1 - self, 2}) agreement.heard(other, {}, now);
      agreement.tick(now);
      EXPECT_EQ(agreement.verdict().has_value(), passed == limit) << self << " after " << passed;
    }
    EXPECT_EQ(agreement.verdict()->rank, 3);
  }
}

}  // namespace
}  // namespace pipetrace
