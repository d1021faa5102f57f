#include "runtime/control/same_run.h"

#include <gmock/gmock.h>

#include <thread>

#include "runtime/control/testing/memory_key_value.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using ::testing::Each;
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
        requireSameRun(store, rank, ranks, facts[i], kNsPerSecond);
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

TEST(SameRun, ARankThatDoesNotComeIsAnErrorAfterTheTime) {
  testing::MemoryKeyValue store;
  EXPECT_THROW(requireSameRun(store, 0, 2, kUsual, 20 * kNsPerMs), Error);
}

}  // namespace
}  // namespace pipetrace
