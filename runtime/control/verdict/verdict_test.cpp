#include "runtime/control/verdict/verdict.h"

#include <gmock/gmock.h>

#include "runtime/control/testing/plain_status.h"
#include "runtime/control/verdict/first_cause.h"

namespace pipetrace {
namespace {

using testing::computing;
using testing::waiting;

FailureCause causeOf(CauseKind kind, int rank, const ActionStatus& status = {}) {
  FailureCause cause;
  cause.kind = kind;
  cause.rank = rank;
  cause.status = status;
  return cause;
}

PlanWords planWords() {
  PlanWords words;
  words.action = [](int rank, std::int64_t action) {
    return std::to_string(rank) + "F" + std::to_string(action);
  };
  words.message = [](int, const ActionStatus& rank) {
    return "activation " + std::to_string(rank.awaited.number);
  };
  return words;
}

TEST(Verdict, NamesTheRankItsActionAndWhatBothRanksWaitedFor) {
  const std::string text =
      verdictText(causeOf(CauseKind::kDied, 2, waiting(3, 1, 3)), planWords(), 0, waiting(5, 1, 4));
  const std::string culprit =
      "rank 2 died, last seen in 2F3 (3 actions ended), waiting for activation 3 from rank 1";
  const std::string own =
      "this rank, 0, was in 0F5 (5 actions ended), waiting for activation 4 from rank 1";
  EXPECT_EQ(text, culprit + "; " + own);
}

TEST(Verdict, IsReadableWithoutAPlan) {
  ActionStatus between = computing(1);
  between.inside = false;
  EXPECT_EQ(
      verdictText(causeOf(CauseKind::kDied, 2), {}, 0, between),
      "rank 2 died, last seen before its first action (0 actions ended); this rank, 0, was after "
      "action 1 (1 action ended)");
}

TEST(Verdict, TellsAFailureWithItsText) {
  FailureCause cause = causeOf(CauseKind::kFailed, 1, computing(4));
  cause.reason = "out of memory";
  EXPECT_EQ(verdictText(cause, {}, 1, computing(4)),
            "rank 1 failed in action 4 (4 actions ended): out of memory; this is rank 1");
}

TEST(Verdict, SaysBrieflyThatARankWasStopped) {
  FailureCause cause = causeOf(CauseKind::kStopped, 1, computing(4));
  cause.reason = "stopped by SIGINT";
  EXPECT_EQ(verdictText(cause, {}, 1, computing(4)), "stopped by SIGINT");
  EXPECT_EQ(verdictText(cause, {}, 2, computing(5)), "rank 1 was stopped by SIGINT");
}

TEST(Verdict, AStopCountsOnlyIfNothingElseHappened) {
  std::vector<Observation> all{
      {.observer = 0, .noticed = 10, .cause = causeOf(CauseKind::kStopped, 0)},
      {.observer = 1, .noticed = 10, .cause = causeOf(CauseKind::kStopped, 0)},
      {.observer = 1, .noticed = 12, .cause = causeOf(CauseKind::kDied, 2)},
  };
  EXPECT_EQ(firstCause(all).rank, 2);
  all.pop_back();
  EXPECT_EQ(firstCause(all).rank, 0);
}

TEST(Verdict, TellsWhoWaitsForWhomInACycle) {
  FailureCause cause = causeOf(CauseKind::kCycle, 1, waiting(4, 0, 7));
  cause.lasted = 5 * kNsPerSecond;
  cause.cycle = {{.rank = 1, .status = waiting(4, 0, 7)}, {.rank = 0, .status = waiting(2, 1, 3)}};
  const std::string begin = "ranks wait for each other for 5.000 s: ";
  const std::string first =
      "rank 1 in action 4 (4 actions ended), waiting for message 7 from rank 0; ";
  const std::string second =
      "rank 0 in action 2 (2 actions ended), waiting for message 3 from rank 1; ";
  EXPECT_THAT(verdictText(cause, {}, 2, {}),
              ::testing::StartsWith(begin + first + second + "rank 1 stood still longest; this"));
}

TEST(Verdict, TheCauseThatMostRanksNoticedFirstCounts) {
  const std::vector<Observation> all{
      {.observer = 0, .noticed = 10, .cause = causeOf(CauseKind::kDied, 3)},
      {.observer = 0, .noticed = 12, .cause = causeOf(CauseKind::kDied, 2)},
      {.observer = 1, .noticed = 11, .cause = causeOf(CauseKind::kDied, 3)},
      {.observer = 4, .noticed = 5, .cause = causeOf(CauseKind::kDied, 2)},
      {.observer = 4, .noticed = 13, .cause = causeOf(CauseKind::kDied, 3)},
  };
  EXPECT_EQ(firstCause(all).rank, 3);
}

TEST(Verdict, CausesWithEqualVotesCountByAgeThenByRank) {
  std::vector<Observation> all{
      {.observer = 0, .noticed = 10, .cause = causeOf(CauseKind::kDied, 3)},
      {.observer = 1, .noticed = 9, .cause = causeOf(CauseKind::kDied, 2)},
  };
  EXPECT_EQ(firstCause(all).rank, 2);
  all[1].noticed = 11;
  EXPECT_EQ(firstCause(all).rank, 3);
  all[1].noticed = 10;
  EXPECT_EQ(firstCause(all).rank, 2);
}

TEST(Verdict, HasTheLatestStatusThatAnyRankKnew) {
  FailureCause old = causeOf(CauseKind::kDied, 2, computing(3));
  FailureCause fresh = causeOf(CauseKind::kDied, 2, computing(5));
  fresh.status.sequence = 9;
  const std::vector<Observation> all{{.observer = 0, .noticed = 1, .cause = old},
                                     {.observer = 1, .noticed = 2, .cause = fresh}};
  EXPECT_EQ(firstCause(all).status.action, 5);
}

}  // namespace
}  // namespace pipetrace
