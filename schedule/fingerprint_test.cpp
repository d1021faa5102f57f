#include "schedule/fingerprint.h"

#include <gtest/gtest.h>

#include <map>
#include <utility>
#include <vector>

#include "schedule/build_schedule.h"
#include "schedule/file/schedule_file.h"
#include "schedule/testing/random_plans.h"

namespace pipetrace {
namespace {

// The numbers come from a script that follows the header's text, in another language.
TEST(Fingerprint, KnownPlansHaveKnownFingerprints) {
  EXPECT_EQ(fingerprintText(fingerprint(readPlan("0F0,0B0\n", "one"))), "ebf15d39f0e5f2ad");
  const char* const full =
      "# update_every = 2, double_buffered = 1, credits = 3\n"
      "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0I0,0W0,0RECV_B1,0B1\n"
      "1RECV_F0,1F0,1RECV_F1,(1F1;1B0)OVERLAP_F_B,1SEND_B0,1B1,1SEND_B1\n";
  EXPECT_EQ(fingerprintText(fingerprint(readPlan(full, "two"))), "4e9c37722452793b");
  EXPECT_EQ(fingerprintText(fingerprint(readPlan("0F0,0R0,0B0\n", "three"))), "f308dbe57674a8a9");
  EXPECT_EQ(fingerprintText(0x2a), "000000000000002a");
}

TEST(Fingerprint, NamesDoNotCount) {
  Plan plan = buildSchedule("DualPipe", 4, 8);
  const std::uint64_t before = fingerprint(plan);
  plan.name = "another";
  EXPECT_EQ(fingerprint(plan), before);
}

TEST(Fingerprint, PlansThatAreWrittenAndReadKeepTheirs) {
  for (const std::string& name : scheduleNames()) {
    Plan plan = buildSchedule(name, 4, 8);
    plan.credits = 5;
    EXPECT_EQ(fingerprint(readPlan(toCsv(plan), "again")), fingerprint(plan)) << name;
  }
  const Plan plan = buildOnStageRanks("PipeDream", {{0, 1}, {2}}, 8);
  EXPECT_EQ(fingerprint(readPlan(toCsv(plan), "again")), fingerprint(plan));
}

TEST(Fingerprint, SchedulesDiffer) {
  std::map<std::uint64_t, std::string> known;
  for (const std::string& name : scheduleNames()) {
    if (name == "auto") continue;  // it may find the plan of another one
    for (const int microBatches : {6, 8, 9}) {
      const Plan plan = buildSchedule(name, 4, microBatches);
      const std::string what = name + " " + std::to_string(microBatches);
      const auto [other, isNew] = known.try_emplace(fingerprint(plan), what);
      EXPECT_TRUE(isNew) << what << " and " << other->second;
    }
  }
}

/// Calls visit() with the plan for every number of it that is changed, one at a time.
template <typename Visit>
void forEachChange(Plan plan, int by, const Visit& visit) {
  const auto change = [&](auto& value, auto changed) {
    const auto kept = std::exchange(value, changed);
    visit(plan);
    value = kept;
  };
  const auto changeNumber = [&](int& value) { change(value, value + by); };
  changeNumber(plan.numStages);
  changeNumber(plan.numMicroBatches);
  for (std::vector<int>& ranks : plan.placement.ranksOfStage) {
    for (int& rank : ranks) changeNumber(rank);
  }
  if (plan.placement.hasSeveralRanks()) changeNumber(plan.placement.run);
  changeNumber(plan.replicas);
  for (int& every : plan.updates.every) changeNumber(every);
  change(plan.updates.doubleBuffered, !plan.updates.doubleBuffered);
  changeNumber(plan.credits);
  for (std::vector<Action>& actions : plan.ranks) {
    for (std::size_t i = 0; i < actions.size(); ++i) {
      Action& action = actions[i];
      changeNumber(action.stage);
      changeNumber(action.microBatch);
      changeNumber(action.backwardStage);
      changeNumber(action.backwardMicroBatch);
      const bool isForward = action.kind == JobKind::kForward;
      change(action.kind, isForward ? JobKind::kBackward : JobKind::kForward);
      const Action removed = action;
      actions.erase(actions.begin() + static_cast<std::ptrdiff_t>(i));
      visit(plan);
      actions.insert(actions.begin() + static_cast<std::ptrdiff_t>(i), removed);
    }
  }
}

TEST(Fingerprint, EveryChangeOfASingleNumberShows) {
  test::RandomPlans random(21);
  int changes = 0;
  for (int round = 0; round < 200; ++round) {
    const Plan plan = round % 4 == 0   ? random.forwardOnly()
                      : round % 4 == 1 ? random.asynchronous()
                                       : random.any();
    const std::uint64_t before = fingerprint(plan);
    ASSERT_EQ(fingerprint(Plan(plan)), before);
    for (const int by : {-1, 1, 256, 1 << 24}) {
      forEachChange(plan, by, [&](const Plan& changed) {
        ASSERT_NE(fingerprint(changed), before) << toCsv(plan);
        ++changes;
      });
      if (testing::Test::HasFatalFailure()) return;
    }
  }
  EXPECT_GT(changes, 50'000);
}

TEST(Fingerprint, ActionsInAnotherOrderOrOnAnotherRankShow) {
  const Plan plan = buildSchedule("1F1B", 4, 8);
  Plan swapped = plan;
  std::swap(swapped.ranks[1][3], swapped.ranks[1][4]);
  EXPECT_NE(fingerprint(swapped), fingerprint(plan));
  Plan moved = plan;
  moved.ranks[2].insert(moved.ranks[2].begin(), moved.ranks[1].back());
  moved.ranks[1].pop_back();
  EXPECT_NE(fingerprint(moved), fingerprint(plan));
}

}  // namespace
}  // namespace pipetrace
