#include "runtime/control/verdict/failure_agreement.h"

#include <gmock/gmock.h>

#include "runtime/control/testing/agreement_network.h"

namespace pipetrace {
namespace {

using Network = testing::AgreementNetwork;

TEST(FailureAgreement, AllNameTheRankThatDiedWithItsLastAction) {
  for (int dead = 0; dead < 5; ++dead) {
    Network network(5, 1, 20);
    network.run(300);
    network.die(dead);
    const int took = network.awaitVerdicts(1000);
    EXPECT_GE(took, 0);
    EXPECT_LT(took, 100);
    EXPECT_EQ(network.culprit(), dead);
    network.each([&](int rank) {
      EXPECT_EQ(network.agreement(rank).verdict()->kind, CauseKind::kDied);
      EXPECT_EQ(network.agreement(rank).verdict()->status.action, dead);
    });
  }
}

TEST(FailureAgreement, AllAgreeOnOneOfTwoRanksThatDieTogether) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    Network network(6, seed, 40);
    network.run(200);
    network.die(static_cast<int>(seed % 6));
    network.die(static_cast<int>((seed + 1 + seed / 6 % 5) % 6));
    ASSERT_GE(network.awaitVerdicts(1000), 0) << seed;
    ASSERT_GE(network.culprit(), 0) << "different names, seed " << seed;
  }
}

TEST(FailureAgreement, AllAgreeOnOneOfTwoRanksThatFailTogetherHoweverLongTheBeat) {
  for (const int beat : {100, 1000}) {
    for (unsigned seed = 0; seed < 120; ++seed) {
      Network network(6, seed, 20, limitsAt(beat * kNsPerMs, {}));
      network.restBetweenBeats(beat);
      network.run(beat);
      network.agreement(4).failed("out of memory", network.now());
      network.run(static_cast<int>(seed % 5));
      network.agreement(2).failed("bad loss", network.now());
      ASSERT_GE(network.awaitVerdicts(5000), 0) << beat << " ms, seed " << seed;
      ASSERT_GE(network.culprit(), 0) << "different names at " << beat << " ms, seed " << seed;
    }
  }
}

TEST(FailureAgreement, ARankThatDiesLongAfterAnotherIsNotTheFirstCause) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    Network network(6, seed, 20);
    network.run(200);
    network.die(4);
    network.run(45);
    network.die(1);
    ASSERT_GE(network.awaitVerdicts(1500), 0) << seed;
    ASSERT_EQ(network.culprit(), 4) << seed;
  }
}

TEST(FailureAgreement, ARankThatSaidWhatHappenedMayHangUp) {
  Network network(4, 3, 30);
  network.run(200);
  network.agreement(2).failed("out of memory", network.now());
  network.run(1);
  network.die(2);
  ASSERT_GE(network.awaitVerdicts(1000), 0);
  EXPECT_EQ(network.culprit(), 2);
  EXPECT_EQ(network.agreement(0).verdict()->kind, CauseKind::kFailed);
  EXPECT_EQ(network.agreement(3).verdict()->reason, "out of memory");
}

TEST(FailureAgreement, ALostConnectionFollowsFromADeathThatIsNoticedLater) {
  Network network(4, 3, 30);
  network.run(200);
  network.agreement(1).lostPeer("the socket broke", network.now());
  network.run(1000);
  network.die(3);
  ASSERT_GE(network.awaitVerdicts(1000), 0);
  EXPECT_EQ(network.culprit(), 3);
}

TEST(FailureAgreement, ALostConnectionBetweenRanksThatLiveIsTheCauseInTheEnd) {
  Network network(4, 3, 30);
  network.run(200);
  network.agreement(1).lostPeer("the socket broke", network.now());
  const int took = network.awaitVerdicts(4000);
  EXPECT_GE(took, 1400);
  EXPECT_LT(took, 2000);
  EXPECT_EQ(network.culprit(), 1);
  EXPECT_EQ(network.agreement(0).verdict()->reason, "the socket broke");
}

TEST(FailureAgreement, ARankThatIsStoppedEndsTheRunForAll) {
  Network network(4, 3, 30);
  network.run(200);
  network.agreement(2).stopped("stopped by SIGTERM", network.now());
  const int took = network.awaitVerdicts(1000);
  EXPECT_GE(took, 0);
  EXPECT_LT(took, 100);
  EXPECT_EQ(network.culprit(), 2);
  EXPECT_EQ(network.agreement(0).verdict()->kind, CauseKind::kStopped);
}

TEST(FailureAgreement, ARunWhoseRanksAreAllStoppedEndsAtOnceAndAllNameTheSame) {
  for (const int ranks : {2, 4}) {
    for (unsigned seed = 0; seed < 50; ++seed) {
      Network network(ranks, seed, 30);
      network.run(200);
      network.each(
          [&](int rank) { network.agreement(rank).stopped("stopped by SIGINT", network.now()); });
      const int took = network.awaitVerdicts(1000);
      ASSERT_GE(took, 0);
      ASSERT_LT(took, 100);
      const FailureCause first = *network.agreement(0).verdict();
      network.each([&](int rank) { ASSERT_EQ(network.agreement(rank).verdict(), first) << seed; });
    }
  }
}

TEST(FailureAgreement, ADeathIsTheCauseAlthoughALauncherStopsTheOthersBeforeTheyNoticeIt) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    Network network(6, seed, 30);
    network.run(200);
    const int dead = static_cast<int>(seed % 6);
    network.die(dead);
    network.each([&](int rank) {
      if (seed % 3 != 2 || rank % 2 == 0) {
        network.agreement(rank).stopped("stopped by SIGTERM", network.now());
      }
    });
    ASSERT_GE(network.awaitVerdicts(1000), 0) << seed;
    ASSERT_EQ(network.culprit(), dead) << seed;
    network.each([&](int rank) {
      ASSERT_EQ(network.agreement(rank).verdict()->kind, CauseKind::kDied) << seed;
    });
  }
}

TEST(FailureAgreement, AHostThatVanishesIsNoticedWithin10Seconds) {
  for (int silent = 0; silent < 4; ++silent) {
    Network network(4, 3, 30);
    network.run(500);
    network.stop(silent);
    const int took = network.awaitVerdicts(20'000);
    EXPECT_GE(took, 7'500);
    EXPECT_LT(took, 10'000);
    EXPECT_EQ(network.culprit(), silent);
    EXPECT_EQ(network.agreement((silent + 1) % 4).verdict()->kind, CauseKind::kSilent);
  }
}

TEST(FailureAgreement, OnceAllHaveFinishedRanksMayHangUp) {
  Network network(4, 3, 30);
  network.run(200);
  for (int rank = 0; rank < 4; ++rank) network.agreement(rank).finish();
  network.run(100);
  network.each([&](int rank) { EXPECT_TRUE(network.agreement(rank).isFinished()); });
  network.die(0);
  network.run(100);
  network.each([&](int rank) { EXPECT_FALSE(network.agreement(rank).isAlarmed()); });
}

TEST(FailureAgreement, ARankThatDiesWhileOthersWaitForItAtTheEndIsNamed) {
  Network network(4, 3, 30);
  network.run(200);
  for (const int rank : {0, 1, 3}) network.agreement(rank).finish();
  network.run(500);
  network.die(2);
  ASSERT_GE(network.awaitVerdicts(1000), 0);
  EXPECT_EQ(network.culprit(), 2);
}

TEST(FailureAgreement, TheNextRankDecidesWhenTheOneThatShouldDiesMeanwhile) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    Network network(5, seed, 40);
    network.run(200);
    network.die(3);
    network.run(static_cast<int>(seed % 50));
    network.die(0);
    ASSERT_GE(network.awaitVerdicts(2000), 0) << seed;
    ASSERT_GE(network.culprit(), 0) << "different names, seed " << seed;
  }
}

}  // namespace
}  // namespace pipetrace
