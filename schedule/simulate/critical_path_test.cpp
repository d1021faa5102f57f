#include "schedule/simulate/critical_path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "schedule/add_transfers.h"
#include "schedule/build_schedule.h"
#include "schedule/file/schedule_file.h"
#include "schedule/simulate/simulate.h"

namespace pipetrace {
namespace {

using testing::ElementsAre;
using testing::Pair;

std::vector<std::string> linksOf(const CriticalPath& path) {
  std::vector<std::string> texts;
  for (const CriticalPath::Link& link : path.links) {
    texts.push_back(link.text + " " + std::to_string(link.begin) + "-" + std::to_string(link.end) +
                    " " + std::string(toText(link.reason)));
  }
  return texts;
}

// The times of simulate_test's drawing, with lr 1 and optimizer 4.
TEST(CriticalPath, IsTheChainDrawnByHand) {
  Costs costs = Costs::equal(2, {10, 20});
  costs.transfer = 5;
  costs.lr = 1;
  costs.optimizer = 4;
  const Simulation result = simulate(buildSchedule("1F1B", 2, 2), costs, {.begin = 1000});
  EXPECT_THAT(linksOf(result.criticalPath),
              ElementsAre("lr 1000-1001 start of the step", "0F0 1001-1011 rank was busy",
                          "0SEND_F0 1011-1016 made then", "1F0 1016-1026 message",
                          "1B0 1026-1046 rank was busy", "1F1 1046-1056 rank was busy",
                          "1B1 1056-1076 rank was busy", "1SEND_B1 1076-1081 made then",
                          "0B1 1081-1101 message", "optimizer 1101-1105 rank was busy"));
  EXPECT_THAT(result.criticalPath.totals(),
              ElementsAre(Pair("lr", 1), Pair("forward", 30), Pair("backward", 60),
                          Pair("optimizer", 4), Pair("send_forward", 5), Pair("send_backward", 5)));
}

TEST(CriticalPath, BusyLinkIsAReason) {
  Costs costs = Costs::equal(2, {10, 1});
  for (StageCosts& stage : costs.stages) stage.message = 30;
  costs.bandwidth = 1e9;
  // Messages leave at 10 and 40, and take 30 each.
  const Simulation result = simulate(buildSchedule("FThenB", 2, 2), costs);
  EXPECT_THAT(linksOf(result.criticalPath),
              ElementsAre("0F0 0-10 start of the step", "0SEND_F0 10-40 made then",
                          "0SEND_F1 40-70 link was busy", "1F1 70-80 message",
                          "1B0 80-81 rank was busy", "1SEND_B0 81-111 made then",
                          "1SEND_B1 111-141 link was busy", "0B1 141-142 message"));
}

TEST(CriticalPath, LateReceiveIsAReason) {
  Costs costs = Costs::equal(2, {10, 20});
  costs.transfer = 5;
  // Rank 1 posts the receive of micro-batch 1 when it is done with 0, though it was sent at 20.
  const Plan plan = readPlan(
      "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n"
      "1RECV_F0,1F0,1B0,1SEND_B0,1RECV_F1,1F1,1B1,1SEND_B1\n",
      "plan.csv");
  const Simulation result = simulate(CheckedPlan(plan), costs);
  EXPECT_EQ(result.length, 105);
  EXPECT_THAT(
      linksOf(result.criticalPath),
      ElementsAre("0F0 0-10 start of the step", "0SEND_F0 10-15 made then", "1F0 15-25 message",
                  "1B0 25-45 rank was busy", "0SEND_F1 45-50 receive was posted late",
                  "1F1 50-60 message", "1B1 60-80 rank was busy", "1SEND_B1 80-85 made then",
                  "0B1 85-105 message"));
}

TEST(CriticalPath, HasNoGapsAndIsAsLongAsTheStep) {
  std::mt19937 random(5);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  for (const std::string& name : scheduleNames()) {
    for (int round = 0; round < 8; ++round) {
      Plan plan = buildSchedule(name, 1 + below(5), 1 + below(9));
      if (round % 2 == 1) plan = addTransfers(CheckedPlan(plan), {.ahead = below(3)});
      Costs costs;
      for (int s = 0; s < plan.numStages; ++s) {
        costs.stages.push_back({1 + below(9), 1 + below(20), 1 + below(9), 1 + below(9)});
        costs.stages.back().message = below(40);
      }
      costs.transfer = below(6);
      costs.lr = below(3);
      costs.optimizer = below(5);
      costs.bandwidth = round % 3 == 0 ? 2e9 : 0;
      const Simulation result = simulate(CheckedPlan(plan), costs, {.begin = 50});
      const auto& links = result.criticalPath.links;
      ASSERT_FALSE(links.empty());
      EXPECT_EQ(links.front().begin, 50) << name;
      EXPECT_EQ(links.back().end, 50 + result.length) << name;
      Nanoseconds sum = 0;
      for (const auto& [kind, total] : result.criticalPath.totals()) sum += total;
      EXPECT_EQ(sum, result.length) << name;
      for (std::size_t i = 1; i < links.size(); ++i) {
        ASSERT_EQ(links[i].begin, links[i - 1].end) << name << " " << links[i].text;
        ASSERT_LT(links[i].begin, links[i].end);
      }
    }
  }
}

}  // namespace
}  // namespace pipetrace
