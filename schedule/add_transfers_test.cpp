#include "schedule/add_transfers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedule/build_schedule.h"
#include "schedule/check/check.h"
#include "schedule/file/schedule_file.h"
#include "schedule/planned_message.h"
#include "schedule/simulate/dry_run.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

std::string withTransfers(std::string_view csv, int credits) {
  return toCsv(addTransfers(readPlan(csv, "plan.csv"), {.ahead = credits}));
}

TEST(AddTransfers, SendsFollowTheirMakerAndReceivesPrecedeTheirUser) {
  EXPECT_EQ(withTransfers("0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n", 0),
            "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n"
            "1RECV_F0,1F0,1B0,1SEND_B0,1RECV_F1,1F1,1B1,1SEND_B1\n");
}

TEST(AddTransfers, CreditsPostReceivesEarly) {
  EXPECT_EQ(withTransfers("0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n", 1),
            "0RECV_B0,0F0,0SEND_F0,0F1,0SEND_F1,0B0,0RECV_B1,0B1\n"
            "1RECV_F0,1F0,1RECV_F1,1B0,1SEND_B0,1F1,1B1,1SEND_B1\n");
  EXPECT_EQ(withTransfers("0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n", 2),
            "0RECV_B0,0RECV_B1,0F0,0SEND_F0,0F1,0SEND_F1,0B0,0B1\n"
            "1RECV_F0,1RECV_F1,1F0,1B0,1SEND_B0,1F1,1B1,1SEND_B1\n");
}

TEST(AddTransfers, ReceivesStandInTheOrderOfTheSends) {
  // Rank 1 uses micro-batch 1 first, which rank 0 sends second.
  EXPECT_EQ(withTransfers("0F0,0F1,0B1,0B0\n1F1,1F0,1B1,1B0\n", 0),
            "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B1,0B1,0RECV_B0,0B0\n"
            "1RECV_F0,1RECV_F1,1F1,1F0,1B1,1SEND_B1,1B0,1SEND_B0\n");
}

TEST(AddTransfers, StagesOfOneRankHandOverWithoutAMessage) {
  EXPECT_EQ(withTransfers("0F0,1F0,1B0,0B0\n", 1), "0F0,1F0,1B0,0B0\n");
  EXPECT_EQ(withTransfers("0F0,3F0,3B0,0B0\n1F0,2F0,2B0,1B0\n", 0),
            "0F0,0SEND_F0,3RECV_F0,3F0,3B0,3SEND_B0,0RECV_B0,0B0\n"
            "1RECV_F0,1F0,2F0,2SEND_F0,2RECV_B0,2B0,1B0,1SEND_B0\n");
}

TEST(AddTransfers, FusedPairsReceiveAndSendForBothHalves) {
  EXPECT_EQ(withTransfers("0F0,0F1,0B0,0B1\n1F0,1F1,1B0,1B1\n2F0,(2F1;2B0)OVERLAP_F_B,2B1\n", 0),
            "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n"
            "1RECV_F0,1F0,1SEND_F0,1RECV_F1,1F1,1SEND_F1,1RECV_B0,1B0,1SEND_B0,1RECV_B1,1B1,"
            "1SEND_B1\n"
            "2RECV_F0,2F0,2RECV_F1,(2F1;2B0)OVERLAP_F_B,2SEND_B0,2B1,2SEND_B1\n");
  const std::string both =
      withTransfers("0F0,0F1,0B0,0B1\n1F0,(1F1;1B0)OVERLAP_F_B,1B1\n2F0,2B0,2F1,2B1\n", 0);
  EXPECT_THAT(both, HasSubstr("1RECV_F1,1RECV_B0,(1F1;1B0)OVERLAP_F_B,1SEND_F1,1SEND_B0"));
}

TEST(AddTransfers, EveryBuildersPlanStaysValidAndAsLong) {
  for (const std::string& name : scheduleNames()) {
    for (const auto& [p, m] : {std::pair{1, 2}, {2, 4}, {4, 3}, {4, 8}, {6, 12}}) {
      const Plan plan = buildSchedule(name, p, m);
      Costs costs = Costs::equal(plan.numStages, {3, 7, 4, 3});
      costs.optimizer = 2;
      const DryRun before = dryRun(CheckedPlan(plan), costs);
      for (int credits = 0; credits <= 3; ++credits) {
        SCOPED_TRACE(name + " " + std::to_string(p) + " " + std::to_string(m) + " " +
                     std::to_string(credits));
        const Plan full = addTransfers(CheckedPlan(plan), {.ahead = credits});
        const auto problems = check(full);
        ASSERT_TRUE(problems.empty()) << toText(problems.front());
        const DryRun after = dryRun(CheckedPlan(full), costs);
        EXPECT_EQ(after.length, before.length);
        for (std::size_t r = 0; r < before.ranks.size(); ++r) {
          EXPECT_EQ(after.ranks[r].busy, before.ranks[r].busy);
          EXPECT_EQ(after.ranks[r].peakLive, before.ranks[r].peakLive);
        }
      }
    }
  }
}

TEST(AddTransfers, EarlyReceivesTakeNoLongerThanThePlanWithoutThem) {
  for (const std::string& name : scheduleNames()) {
    const Plan plan = buildSchedule(name, 4, 8);
    Costs costs = Costs::equal(plan.numStages, {10, 20, 10, 10});
    costs.transfer = 3;
    const Nanoseconds length = dryRun(CheckedPlan(plan), costs).length;
    const Nanoseconds late = dryRun(addTransfers(CheckedPlan(plan), {.ahead = 0}), costs).length;
    const Nanoseconds early = dryRun(addTransfers(CheckedPlan(plan), {.ahead = 16}), costs).length;
    EXPECT_EQ(early, length) << name;
    EXPECT_GE(late, length) << name;
  }
}

TEST(AddTransfers, PlansThatCannotRunOrHaveTransfersAreRefused) {
  EXPECT_THAT([] { withTransfers("0F0,0F1,0B0\n", 1); },
              ThrowsMessage<Error>(HasSubstr("0B1 is missing")));
  EXPECT_THAT([] { addTransfers(addTransfers(buildSchedule("1F1B", 2, 2))); },
              ThrowsMessage<Error>(HasSubstr("sends and receives already")));
  EXPECT_THROW(addTransfers(buildSchedule("1F1B", 2, 2), {.ahead = -2}), Error);
}

}  // namespace
}  // namespace pipetrace
