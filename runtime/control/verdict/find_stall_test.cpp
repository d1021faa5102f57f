#include "runtime/control/verdict/find_stall.h"

#include <gmock/gmock.h>

#include "runtime/control/testing/plain_status.h"

namespace pipetrace {
namespace {

using testing::computing;
using testing::finishing;
using testing::waiting;

constexpr Nanoseconds kTimeout = 5 * kNsPerSecond;
constexpr Nanoseconds kLong = 6 * kNsPerSecond;

std::optional<FailureCause> stallOf(const std::vector<ActionStatus>& statuses,
                                    const PlanWords& words = {}, int silent = -1) {
  std::vector<RankView> views;
  for (const ActionStatus& status : statuses) views.push_back({.status = status});
  if (silent >= 0) views[static_cast<std::size_t>(silent)].silent = kLong;
  return findStall(views, {.stepTimeout = kTimeout}, words);
}

TEST(FindStall, NamesTheRankThatComputesTooLong) {
  const auto cause = stallOf({computing(0), computing(3, kLong), computing(0)});
  ASSERT_TRUE(cause);
  EXPECT_EQ(cause->kind, CauseKind::kStalled);
  EXPECT_EQ(cause->rank, 1);
  EXPECT_EQ(cause->status.action, 3);
  EXPECT_EQ(cause->lasted, kLong);
}

TEST(FindStall, FollowsWhoWaitsForWhomToTheRoot) {
  const auto cause = stallOf({waiting(4, 1, 7, kLong), waiting(3, 2, 7, kLong),
                              waiting(2, 3, 7, kLong), computing(1, kLong)});
  ASSERT_TRUE(cause);
  EXPECT_EQ(cause->kind, CauseKind::kStalled);
  EXPECT_EQ(cause->rank, 3);
}

TEST(FindStall, DoesNotBlameASlowRankThatStillEndsActions) {
  EXPECT_FALSE(stallOf({waiting(4, 1, 7, kLong), computing(3, kTimeout - 1)}));
}

TEST(FindStall, DoesNotBlameAWaitForARankThatWaitsForASlowOne) {
  EXPECT_FALSE(
      stallOf({waiting(4, 1, 7, kLong), waiting(3, 2, 7, kLong), computing(5, kNsPerSecond)}));
}

TEST(FindStall, FindsNothingWithoutATimeout) {
  const std::vector<RankView> views{{.status = computing(0, kLong)}};
  EXPECT_FALSE(findStall(views, {}, {}));
}

TEST(FindStall, RanksThatHaveFinishedMayWaitForOthersAsLongAsTheyLike) {
  EXPECT_FALSE(stallOf({finishing(9, kLong), computing(3, kNsPerSecond)}));
}

TEST(FindStall, ARankThatWaitsForOneThatHasFinishedIsMispaired) {
  const auto cause = stallOf({finishing(9, kLong), waiting(8, 0, 7, kLong)});
  ASSERT_TRUE(cause);
  EXPECT_EQ(cause->kind, CauseKind::kMispaired);
  EXPECT_EQ(cause->rank, 1);
}

TEST(FindStall, ARankThatWaitsForAMessageThatWasSentBeforeIsMispaired) {
  PlanWords words;  // message n is sent in action n
  words.isStillSent = [](int, const ActionStatus& rank, const ActionStatus& sender) {
    return sender.ended <= rank.awaited.number;
  };
  const std::vector<ActionStatus> statuses{waiting(4, 1, 2, kLong), waiting(5, 0, 6, kLong)};
  const auto cause = stallOf(statuses, words);
  ASSERT_TRUE(cause);
  EXPECT_EQ(cause->kind, CauseKind::kMispaired);
  EXPECT_EQ(cause->rank, 0) << "its message, 2, was due before action 5";
}

TEST(FindStall, ARankThatWaitsForAnotherMessageThanItsPlanHasIsMispaired) {
  PlanWords words;
  words.isExpected = [](int rank, const ActionStatus&) { return rank != 2; };
  const auto cause = stallOf(
      {waiting(4, 1, 7, kLong), waiting(4, 2, 7, kLong), waiting(4, 0, 9, kTimeout)}, words);
  ASSERT_TRUE(cause);
  EXPECT_EQ(cause->kind, CauseKind::kMispaired);
  EXPECT_EQ(cause->rank, 2);
}

TEST(FindStall, ARankThatWaitsForItselfOrForNoRankIsMispaired) {
  EXPECT_EQ(stallOf({computing(0), waiting(4, 1, 7, kLong)})->kind, CauseKind::kMispaired);
  EXPECT_EQ(stallOf({computing(0), waiting(4, 9, 7, kLong)})->rank, 1);
}

TEST(FindStall, ACycleIsNamedFromTheRankThatStoodStillLongest) {
  const auto cause = stallOf({waiting(4, 1, 7, kLong), waiting(3, 2, 7, kLong),
                              waiting(2, 3, 7, kLong + 5), waiting(2, 1, 7, kLong)});
  ASSERT_TRUE(cause);
  EXPECT_EQ(cause->kind, CauseKind::kCycle);
  EXPECT_EQ(cause->rank, 2);
  ASSERT_EQ(cause->cycle.size(), 3U) << "rank 0 waits for the cycle and is not in it";
  EXPECT_EQ(cause->cycle[0].rank, 2);
  EXPECT_EQ(cause->cycle[1].rank, 3);
  EXPECT_EQ(cause->cycle[2].rank, 1);
}

TEST(FindStall, ACycleWithARankThatStillEndsActionsIsNone) {
  EXPECT_FALSE(stallOf({waiting(4, 1, 7, kLong), waiting(3, 0, 7, kNsPerSecond)}));
}

TEST(FindStall, ASilentRankIsTheRootWhateverItSaidLast) {
  const auto cause = stallOf({waiting(4, 1, 7, kLong), waiting(3, 0, 7, kLong)}, {}, 1);
  ASSERT_TRUE(cause);
  EXPECT_EQ(cause->kind, CauseKind::kSilent);
  EXPECT_EQ(cause->rank, 1);
  EXPECT_EQ(cause->lasted, kLong);
}

TEST(FindStall, ASilentRankIsNamedAfterTheStepTimeoutSinceItWasHeard) {
  const std::vector<RankView> views{{.status = computing(3), .silent = kTimeout}};
  const auto cause = findStall(views, {.stepTimeout = kTimeout}, {});
  ASSERT_TRUE(cause);
  EXPECT_EQ(cause->kind, CauseKind::kSilent);
}

TEST(FindStall, ARankWhoseWordsAreLateIsNotNamedAlthoughItWaitedForLongBefore) {
  const std::vector<RankView> views{{.status = waiting(4, 1, 7, kTimeout - 1)},
                                    {.status = waiting(3, 0, 7, kLong), .silent = kTimeout - 1}};
  EXPECT_FALSE(findStall(views, {.stepTimeout = kTimeout}, {}));
}

TEST(StallWatch, BlamesAWaitOnlyOnceItHasLookedVainForLong) {
  const StallLimits limits{.stepTimeout = kTimeout, .silence = kNsPerSecond};
  const std::vector<RankView> vain{{.status = finishing(9)}, {.status = waiting(8, 0, 7, kLong)}};
  const std::vector<RankView> next{{.status = finishing(9)}, {.status = waiting(9, 0, 8, kLong)}};
  StallWatch watch;
  EXPECT_FALSE(watch.look(vain, limits, {}, 0));
  EXPECT_FALSE(watch.look(vain, limits, {}, kNsPerSecond - 1));
  EXPECT_FALSE(watch.look(next, limits, {}, kNsPerSecond)) << "another wait";
  EXPECT_FALSE(watch.look(next, limits, {}, 2 * kNsPerSecond - 1));
  EXPECT_TRUE(watch.look(next, limits, {}, 2 * kNsPerSecond));
}

TEST(StallWatch, ThePauseOfTheOneWhoLooksIsNoTimeOfAWait) {
  const StallLimits limits{.stepTimeout = kTimeout, .silence = kNsPerSecond};
  const std::vector<RankView> vain{{.status = finishing(9)}, {.status = waiting(8, 0, 7, kLong)}};
  StallWatch watch;
  EXPECT_FALSE(watch.look(vain, limits, {}, 0));
  watch.slept(60 * kNsPerSecond, 60 * kNsPerSecond);
  EXPECT_FALSE(watch.look(vain, limits, {}, 60 * kNsPerSecond));
  EXPECT_FALSE(watch.look(vain, limits, {}, 61 * kNsPerSecond - 1));
  EXPECT_TRUE(watch.look(vain, limits, {}, 61 * kNsPerSecond));
}

TEST(StallWatch, BlamesARankThatComputesTooLongAtOnce) {
  const std::vector<RankView> views{{.status = computing(3, kLong)}};
  EXPECT_TRUE(StallWatch().look(views, {.stepTimeout = kTimeout}, {}, 0));
}

}  // namespace
}  // namespace pipetrace
