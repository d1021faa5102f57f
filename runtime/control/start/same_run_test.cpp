#include "runtime/control/start/same_run.h"

#include <gmock/gmock.h>

#include <thread>

#include "runtime/control/testing/memory_key_value.h"
#include "runtime/testing/error_of.h"
#include "trace/error.h"
#include "trace/sockets/tcp.h"

namespace pipetrace {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using testing::errorOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> errorsOf(const std::vector<RunFacts>& facts) {
  testing::MemoryKeyValue store;
  const int ranks = static_cast<int>(facts.size());
  std::vector<std::string> errors(facts.size());
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      const auto i = static_cast<std::size_t>(rank);
      try {
        RunStart start(store, rank, ranks, kNsPerSecond);
        awaitSameRun(start, {.rank = rank, .worldSize = ranks}, facts[i]);
      } catch (const Error& e) {
        errors[i] = e.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return errors;
}

const RunFacts kUsual = {{"plan", "A"}, {"seed", "1"}};
const RunFacts kOtherPlan = {{"plan", "B"}, {"seed", "1"}};
const RunFacts kOtherSeed = {{"plan", "A"}, {"seed", "2"}};
const RunFacts kOther = {{"plan", "B"}, {"seed", "2"}};

TEST(SameRun, RanksThatWereStartedAlikeGoOn) {
  EXPECT_THAT(errorsOf({kUsual, kUsual, kUsual}), Each(IsEmpty()));
  EXPECT_THAT(errorsOf({kUsual}), Each(IsEmpty()));
}

TEST(SameRun, TheRankThatDiffersIsNamedByAllAlsoRankZero) {
  EXPECT_THAT(errorsOf({kOtherPlan, kUsual, kUsual}),
              Each(HasSubstr("rank 0 has the plan B, where the others have A")));
  EXPECT_THAT(errorsOf({kUsual, kOtherSeed}),
              Each(HasSubstr("rank 1 has the seed 2, where the others have 1")));
}

TEST(SameRun, SeveralRanksAndFactsAreNamed) {
  EXPECT_THAT(errorsOf({kUsual, kOther, kUsual, kOtherPlan, kUsual}),
              Each(HasSubstr("ranks 1 and 3 have the plan B, where the others have A; "
                             "rank 1 has the seed 2, where the others have 1")));
}

TEST(SameRun, ARankThatDoesNotComeIsNamedByAllAfterTheTime) {
  testing::MemoryKeyValue store;
  std::vector<std::string> errors(3);
  std::vector<std::thread> threads;
  for (const int rank : {0, 2}) {
    threads.emplace_back([&, rank] {
      RunStart start(store, rank, 3, rank == 0 ? 50 * kNsPerMs : 20 * kNsPerSecond);
      errors[static_cast<std::size_t>(rank)] =
          errorOf([&] { awaitSameRun(start, {.rank = rank, .worldSize = 3}, kUsual); });
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(errors[0], "rank 1 did not come within 50.00 ms");
  EXPECT_EQ(errors[2], errors[0]);
}

std::vector<RanksOfRun> ranksOf(const std::vector<RankPlaceInRun>& places) {
  testing::MemoryKeyValue store;
  std::vector<RanksOfRun> ranks(places.size());
  std::vector<std::thread> threads;
  for (const RankPlaceInRun& place : places) {
    threads.emplace_back([&, place] {
      RunStart start(store, place.rank, place.worldSize, 20 * kNsPerSecond);
      ranks[static_cast<std::size_t>(place.rank)] = awaitSameRun(start, place, kUsual);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return ranks;
}

// 198.51.100.0/24 is an address of no host; this one reaches it if it has a way out at all.
TEST(SameRun, ARankWithALoopbackAddressTakesAnotherWhereRanksRunOnOtherHosts) {
  std::string outside;
  try {
    outside = addressTowards("198.51.100.2", 1);
  } catch (const Error&) {
    GTEST_SKIP() << "this host has no network but its own";
  }
  const auto ranks = ranksOf({{.rank = 0, .worldSize = 3, .address = "127.0.1.1", .host = "a"},
                              {.rank = 1, .worldSize = 3, .address = "127.0.0.1", .host = "a"},
                              {.rank = 2, .worldSize = 3, .address = "198.51.100.2", .host = "b"}});
  EXPECT_EQ(ranks[0].address, outside);
  EXPECT_EQ(ranks[1].address, outside);
  EXPECT_EQ(ranks[2].address, "198.51.100.2");
  for (const RanksOfRun& each : ranks) {
    EXPECT_THAT(each.hosts, ElementsAre("a", "a", "b"));
    EXPECT_TRUE(each.hasSeveralHosts());
  }
}

TEST(SameRun, RanksOfOneHostKeepItsLoopbackAddress) {
  const auto ranks = ranksOf({{.rank = 0, .worldSize = 2, .address = "127.0.1.1", .host = "a"},
                              {.rank = 1, .worldSize = 2, .address = "127.0.1.1", .host = "a"}});
  EXPECT_EQ(ranks[1].address, "127.0.1.1");
  EXPECT_FALSE(ranks[1].hasSeveralHosts());
}

TEST(SameRun, HostsOfOneNameAreNamedByTheirAddresses) {
  const auto ranks = ranksOf({{.rank = 0, .worldSize = 3, .address = "10.0.0.1", .host = "node"},
                              {.rank = 1, .worldSize = 3, .address = "10.0.0.2", .host = "node"},
                              {.rank = 2, .worldSize = 3, .address = "10.0.0.3", .host = "c"}});
  EXPECT_THAT(ranks[0].hosts, ElementsAre("10.0.0.1", "10.0.0.2", "c"));
}

TEST(SameRun, ARankWhoseTimeIsOverBeforeThatOfRankZeroNamesTheRankThatIsMissing) {
  testing::MemoryKeyValue store;
  std::vector<std::string> errors(4);
  std::vector<std::thread> threads;
  for (const int rank : {0, 1, 3}) {
    threads.emplace_back([&, rank] {
      RunStart start(store, rank, 4, rank == 1 ? 300 * kNsPerMs : 20 * kNsPerSecond);
      errors[static_cast<std::size_t>(rank)] =
          errorOf([&] { awaitSameRun(start, {.rank = rank, .worldSize = 4}, kUsual); });
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::size_t rank : {0, 1, 3}) {
    EXPECT_EQ(errors[rank], "rank 2 did not come within 300.0 ms");
  }
}

}  // namespace
}  // namespace pipetrace
