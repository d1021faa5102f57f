#include "runtime/control/verdict/reachability.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "runtime/control/testing/host_names.h"

namespace pipetrace {
namespace {

using testing::hostNames;

using AreApart = std::function<bool(int a, int b)>;

// All ranks that `self` hears have told. `areApart` says who does not hear whom.
Reachability reachabilityOf(int self, const std::vector<std::string>& hosts,
                            const AreApart& areApart) {
  const int ranks = static_cast<int>(hosts.size());
  const auto isMissed = [&](int a, int b) { return a != b && (areApart(a, b) || areApart(b, a)); };
  Reachability reachability(self, ranks);
  reachability.hostsAre(hosts);
  for (int rank = 0; rank < ranks; ++rank) {
    if (isMissed(self, rank)) continue;
    std::vector<int> missed;
    for (int other = 0; other < ranks; ++other) {
      if (isMissed(rank, other)) missed.push_back(other);
    }
    reachability.told(rank, missed);
  }
  return reachability;
}

// Hosts by their first letters: "h2 h3".
std::string namesOf(const std::vector<HostRanks>& hosts) {
  std::string names;
  for (const HostRanks& host : hosts) names += (names.empty() ? "" : " ") + host.name;
  return names;
}

// All that a cause by hosts says: "silent h3, rank 12", "cut off from h0 h1, rank 8",
// "silent h3 by h2, rank 12"; "none".
std::string told(const Reachability& reachability) {
  const auto cause = reachability.cause();
  if (!cause) return "none";
  std::string text = cause->kind == CauseKind::kCutOff ? "cut off from " : "silent ";
  text += namesOf(cause->hosts);
  if (!cause->missedBy.empty()) text += " by " + namesOf(cause->missedBy);
  return text + ", rank " + std::to_string(cause->rank);
}

TEST(Reachability, TheLargerOfTwoSidesNamesTheHostsOfTheOther) {
  struct Case {
    std::vector<int> ranksOfHosts;
    int hostsOfSide;  // the first ones are on one side, the rest on the other
    std::string first, rest;
  };
  const std::vector<Case> cases{
      {{4, 4, 4, 4}, 3, "silent h3, rank 12", "cut off from h0 h1 h2, rank 12"},
      {{4, 4, 4, 4}, 1, "cut off from h1 h2 h3, rank 0", "silent h0, rank 0"},
      {{4, 4, 4, 4}, 2, "silent h2 h3, rank 8", "cut off from h0 h1, rank 8"},
      {{1, 1}, 1, "silent h1, rank 1", "cut off from h0, rank 1"},
      {{8, 8}, 1, "silent h1, rank 8", "cut off from h0, rank 8"},
      {{1, 6, 2}, 1, "cut off from h1 h2, rank 0", "silent h0, rank 0"},
      {{1, 2, 6}, 2, "cut off from h2, rank 0", "silent h0 h1, rank 0"},
      {{3, 2, 1}, 1, "silent h1 h2, rank 3", "cut off from h0, rank 3"},
  };
  for (const Case& one : cases) {
    const auto hosts = hostNames(one.ranksOfHosts);
    const auto firsts =
        std::accumulate(one.ranksOfHosts.begin(), one.ranksOfHosts.begin() + one.hostsOfSide, 0);
    const auto areApart = [&](int a, int b) { return a < firsts && b >= firsts; };
    for (int rank = 0; rank < static_cast<int>(hosts.size()); ++rank) {
      const Reachability reachability = reachabilityOf(rank, hosts, areApart);
      EXPECT_EQ(told(reachability), rank < firsts ? one.first : one.rest) << "rank " << rank;
      EXPECT_EQ(reachability.decider(), rank < firsts ? 0 : firsts) << "rank " << rank;
    }
  }
}

TEST(Reachability, ASideOfThreeIsTheLargerOnlyWithHalfOfTheRanksAndRank0) {
  const auto hosts = hostNames({4, 4, 4, 4});
  const auto side = [](int rank) { return rank < 4 ? 0 : rank < 8 ? 1 : 2; };
  const AreApart areApart = [&](int a, int b) { return side(a) != side(b); };
  EXPECT_EQ(told(reachabilityOf(0, hosts, areApart)), "cut off from h1 h2 h3, rank 0");
  EXPECT_EQ(told(reachabilityOf(4, hosts, areApart)), "cut off from h0 h2 h3, rank 4");
  EXPECT_EQ(told(reachabilityOf(15, hosts, areApart)), "cut off from h0 h1, rank 8")
      << "without rank 0";
  const AreApart isHalf = [&](int a, int b) { return side(a / 8 * 4 + a % 4) != side(b / 8 * 4); };
  EXPECT_EQ(told(reachabilityOf(1, hostNames({8, 4, 4}), isHalf)), "silent h1 h2, rank 8");
}

TEST(Reachability, HostsWhoseRanksAreScatteredAreHostsAllTheSame) {
  const AreApart areApart = [](int a, int b) { return a % 2 == 0 && b % 2 == 1; };
  const Reachability reachability =
      reachabilityOf(2, {"even", "odd", "even", "odd", "even"}, areApart);
  const auto cause = reachability.cause();
  ASSERT_TRUE(cause);
  ASSERT_EQ(cause->hosts.size(), 1U);
  EXPECT_EQ(cause->hosts[0], (HostRanks{.name = "odd", .ranks = {1, 3}}));
}

TEST(Reachability, WhereOnlySomeRanksOfAHostAreSilentTheCauseIsNoHost) {
  const auto hosts = hostNames({4, 4, 4});
  EXPECT_EQ(told(reachabilityOf(0, hosts, [](int, int b) { return b == 9; })), "none");
  EXPECT_EQ(told(reachabilityOf(0, hosts, [](int, int b) { return b >= 9; })), "none");
  EXPECT_EQ(told(reachabilityOf(0, hosts, [](int, int b) { return b >= 8 || b == 5; })), "none");
  EXPECT_EQ(told(reachabilityOf(5, hosts, [](int a, int b) { return a == 5 && b >= 0; })), "none");
}

TEST(Reachability, ARunOnOneHostOrOnUnknownOnesHasNoCauseByHost) {
  const AreApart areApart = [](int a, int b) { return a < 2 && b >= 2; };
  EXPECT_EQ(told(reachabilityOf(0, {"h0", "h0", "h0", "h0"}, areApart)), "none");
  EXPECT_EQ(told(reachabilityOf(0, {"h0", "h0", "h1", ""}, areApart)), "none");
  Reachability unknown(0, 4);
  unknown.told(0, {2, 3});
  EXPECT_EQ(told(unknown), "none");
  EXPECT_EQ(unknown.decider(), 0);
}

TEST(Reachability, HostsThatMissEachOtherWhileOthersHearBothGiveOneCauseEverywhere) {
  struct Case {
    std::vector<std::pair<int, int>> links;  // that are cut, between hosts of four ranks
    std::string cause;
    int decider;
  };
  const std::vector<Case> cases{
      {{{2, 3}}, "silent h3 by h2, rank 12", 0},
      {{{0, 3}}, "silent h3 by h0, rank 12", 4},
      {{{0, 1}}, "silent h1 by h0, rank 4", 8},
      {{{0, 1}, {0, 2}}, "silent h0 by h1 h2, rank 0", 12},
      {{{3, 1}, {3, 2}}, "silent h3 by h1 h2, rank 12", 0},
  };
  for (const Case& one : cases) {
    const AreApart areApart = [&](int a, int b) {
      return std::find(one.links.begin(), one.links.end(), std::pair(a / 4, b / 4)) !=
             one.links.end();
    };
    for (int rank = 0; rank < 16; ++rank) {
      const Reachability reachability = reachabilityOf(rank, hostNames({4, 4, 4, 4}), areApart);
      EXPECT_EQ(told(reachability), one.cause) << "rank " << rank;
      EXPECT_EQ(reachability.decider(), one.decider) << "rank " << rank;
    }
  }
}

TEST(Reachability, ALinkThatIsCutForSomeRanksOnlyIsNoCauseByHost) {
  const auto hosts = hostNames({2, 2, 2});
  EXPECT_EQ(told(reachabilityOf(0, hosts, [](int a, int b) { return a == 3 && b == 4; })), "none");
  EXPECT_EQ(told(reachabilityOf(0, hosts, [](int a, int b) { return a == 4 && b == 5; })), "none");
}

TEST(Reachability, ARankThatHasToldNothingCountsAsHearingWhatTheOthersHear) {
  Reachability reachability(0, 4);
  reachability.hostsAre(hostNames({1, 1, 2}));
  EXPECT_FALSE(reachability.hasBegun());
  reachability.told(0, {2, 3});
  EXPECT_TRUE(reachability.hasBegun());
  EXPECT_FALSE(reachability.hasTold(1));
  EXPECT_EQ(told(reachability), "silent h2, rank 2");
  reachability.told(1, {});
  EXPECT_EQ(told(reachability), "silent h0 by h2, rank 0")
      << "rank 1 hears all, and h0 has fewer ranks";
}

TEST(Reachability, NumbersThatAreNoRanksAreIgnored) {
  Reachability reachability(0, 2);
  reachability.hostsAre({"h0", "h1"});
  reachability.told(0, {-1, 2, 1 << 30, 1});
  EXPECT_TRUE(reachability.misses(0, 1));
  EXPECT_EQ(told(reachability), "silent h1, rank 1");
}

}  // namespace
}  // namespace pipetrace
