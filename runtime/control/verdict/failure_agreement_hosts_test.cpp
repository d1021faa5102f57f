// All ranks of a side say the same when hosts of several ranks are cut off from each other.
#include <gmock/gmock.h>

#include "runtime/control/testing/agreement_network.h"
#include "runtime/control/testing/host_names.h"
#include "runtime/control/verdict/failure_agreement.h"
#include "trace/testing/is_sanitized.h"

namespace pipetrace {
namespace {

using test::drawn;
using testing::hostNames;
using ::testing::StartsWith;
using Network = testing::AgreementNetwork;

constexpr int kBeat = 100;  // ms, and the longest delay of a message
// With quick(), all ranks have a verdict between these two times after a cut, in milliseconds. A
// rank was last heard up to three beats before the cut or after it, and the talk takes less than
// 0.8 s.
constexpr int kEarliest = 1700;
constexpr int kLatest = 3100;

// 2 s of silence in place of 8, so that a test can take many runs.
FailureLimits quick() {
  FailureLimits limits;
  limits.silence = 2 * kNsPerSecond;
  return limits;
}

// Ranks that rest between beats, at a random time of a run in which all is well.
Network runningOn(const std::vector<std::string>& hosts, unsigned seed,
                  const FailureLimits& limits = quick(), int beat = kBeat) {
  Network network(static_cast<int>(hosts.size()), seed, kBeat, limits);
  network.hostsAre(hosts);
  network.restBetweenBeats(beat);
  network.run(3 * beat + static_cast<int>(seed * 37) % beat);
  return network;
}

std::string textOf(Network& network, int rank) {
  const auto& verdict = network.agreement(rank).verdict();
  return verdict ? verdictText(*verdict, {}, rank, network.agreement(rank).ownStatus()) : "nothing";
}

// Each side of a cut, given by the first rank after it, says the same, and begins with `texts`.
void expectSides(Network& network, const std::vector<int>& ends,
                 const std::vector<std::string>& texts, unsigned seed) {
  int rank = 0;
  for (std::size_t side = 0; side < ends.size(); ++side) {
    const int first = rank;
    for (; rank < ends[side]; ++rank) {
      ASSERT_THAT(textOf(network, rank), StartsWith(texts[side])) << rank << ", seed " << seed;
      ASSERT_EQ(network.agreement(rank).verdict(), network.agreement(first).verdict())
          << "seed " << seed;
    }
  }
}

int sideOf(int rank, const std::vector<int>& ends) {
  int side = 0;
  while (rank >= ends[static_cast<std::size_t>(side)]) ++side;
  return side;
}

const std::string kNothing = "cut off from the other hosts: nothing has been heard of ";

struct Cut {
  std::vector<int> ranksOfHosts;
  std::vector<int> ends;           // of the sides: the first rank after each
  std::vector<std::string> texts;  // what each side says
};

const std::vector<Cut> kCuts{
    {{4, 4, 4, 4},
     {12, 16},
     {"host h3 (ranks 12 to 15) has not been heard of for ",
      kNothing + "hosts h0 (ranks 0 to 3), h1 (ranks 4 to 7) and h2 (ranks 8 to 11) for "}},
    {{4, 4, 4, 4},
     {4, 16},
     {kNothing + "hosts h1 (ranks 4 to 7), ", "host h0 (ranks 0 to 3) has not been heard of for "}},
    {{4, 4, 4, 4},
     {8, 16},
     {"hosts h2 (ranks 8 to 11) and h3 (ranks 12 to 15) have not ",
      kNothing + "hosts h0 (ranks 0 to 3) and h1 (ranks 4 to 7) for "}},
    {{4, 4, 4, 4},
     {4, 8, 12, 16},
     {kNothing + "hosts h1 (", kNothing + "hosts h0 (", kNothing + "hosts h0 (",
      kNothing + "hosts h0 ("}},
    {{4, 4, 4, 4},
     {4, 8, 16},
     {kNothing + "hosts h1 (", kNothing + "hosts h0 (",
      kNothing + "hosts h0 (ranks 0 to 3) and h1 ("}},
    {{1, 1}, {1, 2}, {"host h1 (rank 1) has not ", kNothing + "host h0 (rank 0) for "}},
    {{8, 8}, {8, 16}, {"host h1 (ranks 8 to 15) has not ", kNothing + "host h0 (ranks 0 to 7) "}},
    {{1, 6, 2},
     {1, 9},
     {kNothing + "hosts h1 (ranks 1 to 6) and h2 (ranks 7 and 8) for ",
      "host h0 (rank 0) has not been heard of for "}},
    {{1, 2, 6},
     {3, 9},
     {kNothing + "host h2 (ranks 3 to 8) for ",
      "hosts h0 (rank 0) and h1 (ranks 1 and 2) have not "}},
    {{1, 1, 1, 1},
     {3, 4},
     {"host h3 (rank 3) has not been heard of for ",
      kNothing + "hosts h0 (rank 0), h1 (rank 1) and h2 (rank 2) for "}}};

TEST(FailureAgreementHosts, EachSideOfACutAgreesWhenTheNetworkIsCutAtAnyTime) {
  for (const Cut& cut : kCuts) {
    for (unsigned seed = 0; seed < drawn(40U); ++seed) {
      Network network = runningOn(hostNames(cut.ranksOfHosts), seed);
      network.cut([&](int a, int b) { return sideOf(a, cut.ends) != sideOf(b, cut.ends); });
      ASSERT_GE(network.awaitVerdicts(kLatest), kEarliest) << "seed " << seed;
      ASSERT_NO_FATAL_FAILURE(expectSides(network, cut.ends, cut.texts, seed));
    }
  }
}

TEST(FailureAgreementHosts, AllRanksNameTheHostThatVanishes) {
  for (unsigned seed = 0; seed < drawn(40U); ++seed) {
    Network network = runningOn(hostNames({4, 4, 4, 4}), seed);
    const int host = static_cast<int>(seed % 4);
    for (int rank = 4 * host; rank < 4 * host + 4; ++rank) network.stop(rank);
    ASSERT_GE(network.awaitVerdicts(kLatest), kEarliest) << "seed " << seed;
    ASSERT_EQ(network.culprit(), 4 * host) << "seed " << seed;
    network.each([&](int rank) {
      ASSERT_THAT(textOf(network, rank), StartsWith("host h" + std::to_string(host) + " (ranks "))
          << "seed " << seed;
    });
  }
}

TEST(FailureAgreementHosts, ARankThatIsStoppedAloneIsNamedWithoutItsHost) {
  for (unsigned seed = 0; seed < drawn(40U); ++seed) {
    Network network = runningOn(hostNames({4, 4, 4, 4}), seed);
    const int rank = static_cast<int>(seed % 16);
    network.stop(rank);
    ASSERT_GE(network.awaitVerdicts(kLatest), kEarliest) << "seed " << seed;
    network.each([&](int i) {
      ASSERT_THAT(textOf(network, i), StartsWith("rank " + std::to_string(rank) + " has not "))
          << "seed " << seed;
    });
  }
}

// Also when the two hosts are those that would decide.
TEST(FailureAgreementHosts, AllRanksSayTheSameOfTwoHostsThatMissEachOtherOnly) {
  for (unsigned seed = 0; seed < drawn(60U); ++seed) {
    const int higher = 1 + static_cast<int>(seed % 3);
    const int lower = static_cast<int>(seed / 3) % higher;
    Network network = runningOn(hostNames({4, 4, 4, 4}), seed);
    network.cut([&](int a, int b) { return a / 4 == lower && b / 4 == higher; });
    ASSERT_GE(network.awaitVerdicts(kLatest), kEarliest) << "seed " << seed;
    const std::string hosts = std::to_string(higher) + std::to_string(lower);
    for (int rank = 0; rank < 16; ++rank) {
      ASSERT_EQ(network.agreement(rank).verdict(), network.agreement(0).verdict())
          << "seed " << seed;
      const FailureCause& cause = *network.agreement(rank).verdict();
      ASSERT_EQ(cause.hosts.size(), 1U) << textOf(network, rank) << ", seed " << seed;
      ASSERT_EQ(cause.missedBy.size(), 1U) << "seed " << seed;
      ASSERT_EQ(cause.hosts[0].name.substr(1) + cause.missedBy[0].name.substr(1), hosts);
    }
  }
}

TEST(FailureAgreementHosts, ADeathAtTheMomentOfACutIsTheCauseOnItsOwnSide) {
  for (unsigned seed = 0; seed < drawn(40U); ++seed) {
    Network network = runningOn(hostNames({4, 4, 4, 4}), seed);
    network.cut([](int a, int b) { return a / 12 != b / 12; });
    const int dead = static_cast<int>(seed * 7 % 16);
    network.die(dead);
    ASSERT_GE(network.awaitVerdicts(kLatest), 0) << "seed " << seed;
    network.each([&](int rank) {
      const bool isOnItsSide = rank / 12 == dead / 12;
      const std::string died = "rank " + std::to_string(dead) + " died";
      const std::string cut = rank < 12 ? "host h3 (ranks 12 to 15) has not " : kNothing;
      ASSERT_THAT(textOf(network, rank), StartsWith(isOnItsSide ? died : cut)) << "seed " << seed;
    });
  }
}

TEST(FailureAgreementHosts, ADeathThatIsNoticedAfterSilenceAndBeforeTheVerdictIsTheCause) {
  const PlanWords words;
  FailureAgreement agreement(0, 6, {}, words, 0);
  agreement.hostsAre(hostNames({3, 3}));
  for (const int rank : {1, 2}) agreement.heard(rank, {}, 8 * kNsPerSecond);
  agreement.tick(8 * kNsPerSecond);
  EXPECT_TRUE(agreement.isAlarmed());
  EXPECT_FALSE(agreement.verdict()) << "ranks 1 and 2 may know more";
  agreement.closed(2, 8 * kNsPerSecond + 50 * kNsPerMs);
  agreement.tick(8 * kNsPerSecond + 300 * kNsPerMs);
  ASSERT_TRUE(agreement.verdict());
  EXPECT_EQ(agreement.verdict()->kind, CauseKind::kDied);
  EXPECT_EQ(agreement.verdict()->rank, 2);
}

TEST(FailureAgreementHosts, AHostThatVanishedLongBeforeAnotherIsTheCauseAlone) {
  for (unsigned seed = 0; seed < drawn(20U); ++seed) {
    Network network = runningOn(hostNames({4, 4, 4, 4}), seed);
    for (int rank = 12; rank < 16; ++rank) network.stop(rank);
    network.run(1500);
    for (int rank = 4; rank < 8; ++rank) network.stop(rank);
    ASSERT_GE(network.awaitVerdicts(kLatest), 0) << "seed " << seed;
    network.each([&](int rank) {
      ASSERT_THAT(textOf(network, rank), StartsWith("host h3 (ranks 12 to 15) has not "));
    });
  }
}

TEST(FailureAgreementHosts, RanksAgreeOnACutWithin9SecondsAndInALargeRunWithin13) {
  for (const int ranks : {16, 250}) {
    const Nanoseconds beat = beatOf(ranks);
    for (unsigned seed = 0; seed < 4; ++seed) {
      Network network = runningOn(hostNames({4, 4, 4, 4}), seed, limitsAt(beat, {}),
                                  static_cast<int>(beat / kNsPerMs));
      network.cut([](int a, int b) { return a / 12 != b / 12; });
      ASSERT_GE(network.awaitVerdicts(ranks == 16 ? 9000 : 13'000), 0) << "seed " << seed;
      ASSERT_NO_FATAL_FAILURE(
          expectSides(network, {12, 16}, {"host h3 (ranks 12 to 15) has not ", kNothing}, seed));
    }
  }
}

TEST(FailureAgreementHosts, TheCauseIsAHostAlsoWhenTheStepTimeoutIsShorterThanSilence) {
  for (unsigned seed = 0; seed < drawn(20U); ++seed) {
    FailureLimits limits;
    limits.stall.stepTimeout = 2 * kNsPerSecond;
    Network network = runningOn(hostNames({4, 4}), seed, limits);
    network.cut([](int a, int b) { return a / 4 != b / 4; });
    ASSERT_GE(network.awaitVerdicts(kLatest), kEarliest) << "seed " << seed;
    ASSERT_NO_FATAL_FAILURE(
        expectSides(network, {4, 8}, {"host h1 (ranks 4 to 7) has not ", kNothing}, seed));
  }
}

}  // namespace
}  // namespace pipetrace
