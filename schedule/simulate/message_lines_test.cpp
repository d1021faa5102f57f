// Messages in line, compared with ../shared/data/message_order: lengths that a separate program has
// computed.
#include <gmock/gmock.h>

#include <cctype>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "schedule/add_transfers.h"
#include "schedule/build_schedule.h"
#include "schedule/check/check.h"
#include "schedule/file/schedule_file.h"
#include "schedule/file/torch_csv.h"
#include "schedule/simulate/order_messages.h"
#include "schedule/simulate/simulate.h"
#include "schedule/with_reductions.h"
#include "trace/error.h"
#include "trace/testing/folders.h"

namespace pipetrace {
namespace {

using ::testing::HasSubstr;

const std::string kOrders = test::inSources("../shared/data/message_order/");
constexpr Nanoseconds kMs = kNsPerMs;

Costs orderCosts(int stages) {
  Costs costs = Costs::equal(stages, {.forward = 10 * kMs,
                                      .backward = 20 * kMs,
                                      .backwardInput = 10 * kMs,
                                      .backwardWeight = 10 * kMs});
  costs.transfer = kMs;
  return costs;
}

double lengthMs(const CheckedPlan& plan, CommStreams commStreams) {
  const Costs costs = orderCosts(plan->numStages);
  const Simulation run = simulate(plan, costs, {.commStreams = commStreams});
  EXPECT_EQ(run.criticalPath.length(), run.length) << plan->name;
  return static_cast<double>(run.length) / kMs;
}

/// A file of torch's own plans, and its lengths in ms.
struct OrderCase {
  std::string file;
  double message, peer, rank, inTime;
};

class TorchOrder : public ::testing::TestWithParam<OrderCase> {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kOrders)) GTEST_SKIP() << kOrders << " is not there";
    plan_.emplace(readScheduleFile(kOrders + GetParam().file + "_p4_m8_v2_comms.csv"));
  }
  std::optional<CheckedPlan> plan_;
};

TEST_P(TorchOrder, TakesTheLengthsThatASeparateProgramHasComputed) {
  EXPECT_EQ(lengthMs(*plan_, CommStreams::kMessage), GetParam().message);
  EXPECT_EQ(lengthMs(*plan_, CommStreams::kPeer), GetParam().peer);
  EXPECT_EQ(lengthMs(*plan_, CommStreams::kRank), GetParam().rank);
  const CheckedPlan inTime = withMessagesInTime(*plan_, orderCosts((*plan_)->numStages));
  EXPECT_EQ(lengthMs(inTime, CommStreams::kRank), GetParam().inTime);
}

TEST_P(TorchOrder, ReceivesRightBeforeTheirUseAreRefusedWithTheCircle) {
  const Plan late = addTransfers(withoutTransfers(**plan_), {.ahead = 0});
  EXPECT_TRUE(check(late, {.commStreams = CommStreams::kMessage}).empty());
  const std::vector<Problem> problems = check(late, {.commStreams = CommStreams::kRank});
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_THAT(problems[0].message, HasSubstr("that closes the cycle"));
  EXPECT_THROW(lengthMs(CheckedPlan(late), CommStreams::kRank), Error);
}

TEST_P(TorchOrder, IsWrittenAsItWasRead) {
  std::ifstream file(kOrders + GetParam().file + "_p4_m8_v2_comms.csv");
  std::string text;
  for (std::string row; std::getline(file, row);) {
    if (row.ends_with('\r')) row.pop_back();
    text += row + "\n";
  }
  EXPECT_THAT(text, HasSubstr("UNSHARD"));
  EXPECT_EQ(toCsv(**plan_), text);
  EXPECT_EQ(toTorchCsv(*plan_), text) << "it has a REDUCE_GRAD for each stage";
}

TEST_P(TorchOrder, IsTheOneInWhichTorchWouldPutTheMessages) {
  EXPECT_EQ(toCsv(withMessagesOfTorch(*plan_)), toCsv(**plan_));
}

TEST_P(TorchOrder, IsTheSameForAPlanWithoutCellsOfDataParallelism) {
  EXPECT_EQ(toCsv(withMessagesOfTorch(withoutDataParallel(withoutTransfers(**plan_)))),
            toCsv(withoutDataParallel(**plan_)));
}

INSTANTIATE_TEST_SUITE_P(All, TorchOrder,
                         ::testing::Values(OrderCase{"Interleaved1F1B", 584, 584, 737, 584},
                                           OrderCase{"InterleavedZeroBubble", 526, 526, 618, 526},
                                           OrderCase{"LoopedBFS", 576, 576, 854, 576},
                                           OrderCase{"ZBVZeroBubble", 523, 523, 568, 523}),
                         [](const auto& info) { return info.param.file; });

/// A schedule of ours, with some number of stages a rank.
struct BuiltCase {
  std::string schedule;
  int chunks;
};

std::vector<BuiltCase> builtCases() {
  std::vector<BuiltCase> cases;
  for (const ScheduleInfo& info : knownSchedules()) {
    if (info.isForwardOnly || info.name == "auto") continue;  // credits; a search
    for (const int chunks : {1, 2}) {
      const bool fits = info.leastChunks <= chunks && chunks <= info.mostChunks;
      if (fits) cases.push_back({std::string(info.name), chunks});
    }
  }
  return cases;
}

class BuiltPlan : public ::testing::TestWithParam<BuiltCase> {};

TEST_P(BuiltPlan, WithMessagesInTimeOneLineARankIsNearlyEnough) {
  const CheckedPlan plan = buildSchedule(
      GetParam().schedule, {.ranks = 8, .microBatches = 32, .chunks = GetParam().chunks});
  const CheckedPlan inTime = withMessagesInTime(plan, orderCosts(plan->numStages));
  const double atBest = lengthMs(inTime, CommStreams::kMessage);
  const double inLine = lengthMs(inTime, CommStreams::kRank);
  const double most = GetParam().schedule == "DualPipe"       ? 1.05
                      : GetParam().schedule == "Combined1F1B" ? 1.04
                      : GetParam().schedule == "DualPipeV"    ? 1.03
                                                              : 1.01;
  EXPECT_LE(inLine, most * atBest) << inLine << " against " << atBest;
  RecordProperty("ms", std::to_string(inLine) + " " + std::to_string(atBest));
}

INSTANTIATE_TEST_SUITE_P(All, BuiltPlan, ::testing::ValuesIn(builtCases()), [](const auto& info) {
  std::string name = info.param.schedule + std::to_string(info.param.chunks);
  std::erase_if(name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; });
  return name;
});

}  // namespace
}  // namespace pipetrace
