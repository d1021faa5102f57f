#include "runtime/control/verdict/verdict.h"

#include <gmock/gmock.h>

#include "runtime/control/testing/plain_status.h"

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
  words.action = [](int rank, const ActionStatus& status) {
    return std::to_string(rank) + "F" + std::to_string(status.action);
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

TEST(Verdict, NamesTheHostsThatWereNotHeardOf) {
  FailureCause cause = causeOf(CauseKind::kSilent, 12, computing(3));
  cause.lasted = 8100 * kNsPerMs;
  cause.hosts = {{.name = "h3", .ranks = {12, 13, 14, 15}}};
  const std::string last =
      " for 8.100 s (gone, cut off or stopped), rank 12 last seen in 12F3 (3 actions ended); "
      "this rank, 0, was in 0F5 (5 actions ended)";
  EXPECT_EQ(verdictText(cause, planWords(), 0, computing(5)),
            "host h3 (ranks 12 to 15) has not been heard of" + last);
  cause.hosts.push_back({.name = "node-7", .ranks = {16}});
  EXPECT_EQ(verdictText(cause, planWords(), 0, computing(5)),
            "hosts h3 (ranks 12 to 15) and node-7 (rank 16) have not been heard of" + last);
}

TEST(Verdict, SaysThatThisSideIsCutOffFromTheOtherHosts) {
  FailureCause cause = causeOf(CauseKind::kCutOff, 12, computing(3));
  cause.lasted = 8100 * kNsPerMs;
  cause.hosts = {{.name = "h0", .ranks = {0, 1, 2, 3}}, {.name = "h1", .ranks = {4, 5, 6, 7}}};
  const std::string text =
      "cut off from the other hosts: nothing has been heard of hosts h0 (ranks 0 to 3) and h1 "
      "(ranks 4 to 7) for 8.100 s; this rank, ";
  EXPECT_EQ(verdictText(cause, planWords(), 12, computing(3)),
            text + "12, was in 12F3 (3 actions ended)");
  EXPECT_EQ(verdictText(cause, planWords(), 13, computing(4)),
            text + "13, was in 13F4 (4 actions ended)");
}

TEST(Verdict, NamesBothHostsThatDoNotHearEachOther) {
  FailureCause cause = causeOf(CauseKind::kSilent, 12, computing(3));
  cause.lasted = 8 * kNsPerSecond;
  cause.hosts = {{.name = "h3", .ranks = {12, 13}}};
  cause.missedBy = {{.name = "h1", .ranks = {4}}, {.name = "h2", .ranks = {8, 9, 10}}};
  const std::string hosts =
      "host h3 (ranks 12 and 13) has not been heard of by hosts h1 (rank 4) and h2 (ranks 8 to 10)";
  EXPECT_EQ(verdictText(cause, planWords(), 0, computing(5)),
            hosts +
                " for 8.000 s (the network between them is cut); this rank, 0, was in 0F5 (5 "
                "actions ended)");
}

TEST(Verdict, NamesNoHostWhereOneRankIsSilent) {
  FailureCause cause = causeOf(CauseKind::kSilent, 2, computing(3));
  cause.lasted = 8 * kNsPerSecond;
  EXPECT_EQ(verdictText(cause, planWords(), 2, computing(3)),
            "rank 2 has not been heard of for 8.000 s (its process is stopped, or its host is "
            "gone), last seen in 2F3 (3 actions ended); this is rank 2");
  EXPECT_EQ(verdictText(causeOf(CauseKind::kCutOff, 2, computing(3)), planWords(), 2, computing(3)),
            "rank 2 no longer hears of any other rank, in 2F3 (3 actions ended); this is rank 2");
}

TEST(Verdict, SilenceCountsOnlyIfNoRankDied) {
  std::vector<Observation> all{
      {.observer = 0, .noticed = 10, .cause = causeOf(CauseKind::kSilent, 1)},
      {.observer = 2, .noticed = 10, .cause = causeOf(CauseKind::kCutOff, 2)},
      {.observer = 0, .noticed = 12, .cause = causeOf(CauseKind::kDied, 3)},
  };
  EXPECT_EQ(firstCause(all).rank, 3);
  all.pop_back();
  EXPECT_EQ(firstCause(all).rank, 1);
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
