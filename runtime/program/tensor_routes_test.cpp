#include "runtime/program/tensor_routes.h"

#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>

#include <map>
#include <string>
#include <vector>

#include "runtime/executor.h"
#include "runtime/program/rank_program.h"
#include "runtime/testing/run_ranks.h"
#include "schedule/build_schedule.h"
#include "schedule/forward_part.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using testing::runConnected;
using testing::Wiring;

// Beside the chain: a second tensor to the next stage without gradient, a skip over two stages, and
// one that every later stage needs.
TensorRoutes manyRoutes(int stages) {
  TensorRoutes routes;
  for (int to = 1; to < stages; ++to) routes.push_back({0, to, false});
  for (int s = 0; s + 1 < stages; ++s) routes.push_back({s, s + 1});
  for (int s = 0; s + 3 < stages; ++s) routes.push_back({s, s + 3});
  for (int s = 0; s + 1 < stages; ++s) routes.push_back({s, s + 1, false});
  routes.push_back({0, 1});
  return routes;
}

// Every tensor says what it is; whoever gets it looks.
class RoutedWork : public StageWork {
 public:
  explicit RoutedWork(TensorRoutes routes, std::vector<std::vector<int>> ties = {})
      : routes_(std::move(routes)), ties_(std::move(ties)) {}
  TensorRoutes routes(const Plan&) const override { return routes_; }
  std::vector<std::vector<int>> ties() const override { return ties_; }
  void beginStep(int step) override { step_ = step; }
  void lr(int) override {}
  void runForward(int stage, int microBatch, JobMessages messages) override {
    pass(true, stage, microBatch, messages);
  }
  void runBackward(int stage, int microBatch, JobMessages messages) override {
    pass(false, stage, microBatch, messages);
  }
  void optimizerStep() override { ++optimizerSteps_; }
  Message tiedSumOf(int tie, int use) override {
    return {.tensor = at::tensor({10.0 * tie + use + 1000.0 * step_})};
  }
  void takeTiedSum(int tie, int use, Message sum) override {
    EXPECT_EQ(sum.tensor.item<double>(), 10.0 * tie + use + 1000.0 * step_);
    tied_.emplace_back(tie, use);
  }

  int jobs_ = 0;
  int optimizerSteps_ = 0;
  std::vector<std::pair<int, int>> tied_;

 private:
  double codeOf(bool forward, std::size_t route, int microBatch) const {
    return (forward ? 1e6 : 2e6) + 1e4 * static_cast<double>(route) + 100.0 * step_ + microBatch;
  }
  void pass(bool forward, int stage, int microBatch, JobMessages messages) {
    ++jobs_;
    std::size_t in = 0;
    std::size_t out = 0;
    for (std::size_t r = 0; r < routes_.size(); ++r) {
      if (!forward && !routes_[r].hasGradient) continue;
      const double code = codeOf(forward, r, microBatch);
      if ((forward ? routes_[r].to : routes_[r].from) == stage) {
        ASSERT_LT(in, messages.inputs.size());
        ASSERT_TRUE(messages.inputs[in].tensor.defined());
        EXPECT_EQ(messages.inputs[in++].tensor.item<double>(), code);
      } else if ((forward ? routes_[r].from : routes_[r].to) == stage) {
        ASSERT_LT(out, messages.outputs.size());
        messages.outputs[out++].tensor = at::tensor({code});
      }
    }
    EXPECT_EQ(in, messages.inputs.size());
    EXPECT_EQ(out, messages.outputs.size());
  }

  const TensorRoutes routes_;
  const std::vector<std::vector<int>> ties_;
  int step_ = 0;
};

class TensorRoutesTest : public ::testing::TestWithParam<Wiring> {};

void runRouted(Wiring wiring, const CheckedPlan& plan) {
  const auto errors = runConnected(wiring, plan->numRanks(), [&](Transport& transport) {
    RoutedWork work(manyRoutes(plan->numStages));
    Executor executor(plan, work, transport);
    for (int step = 0; step < 3; ++step) executor.runStep(step);
    executor.finish();
    EXPECT_GT(work.jobs_, 0);
  });
  for (const std::string& error : errors) EXPECT_EQ(error, "") << plan->name;
}

TEST_P(TensorRoutesTest, EveryTensorGoesDirectlyToTheStageThatNeedsItUnderEverySchedule) {
  if (GetParam() == Wiring::kGloo) {
    for (const char* const name : {"1F1B", "Interleaved1F1B", "ZBV", "DualPipe"}) {
      runRouted(GetParam(), buildSchedule(name, 4, 8));
    }
    return;
  }
  for (const std::string& name : scheduleNames()) runRouted(GetParam(), buildSchedule(name, 4, 8));
  runRouted(GetParam(), forwardPart(buildSchedule("Interleaved1F1B", 4, 8)));
}

INSTANTIATE_TEST_SUITE_P(All, TensorRoutesTest,
                         ::testing::Values(Wiring::kInProcess, Wiring::kGloo),
                         [](const auto& test) {
                           return test.param == Wiring::kGloo ? "Gloo" : "InProcess";
                         });

TEST(TensorRoutes, SumsOfTiedWeightsReachTheRanksOfTheOtherUses) {
  // Rank 0 has use 0, rank 2 uses 1 and 2 of the first; ranks 1 and 3 those of the second.
  const std::vector<std::vector<int>> ties{{0, 2, 2}, {1, 3}};
  const CheckedPlan plan = buildSchedule("1F1B", 4, 4);
  std::vector<std::vector<std::pair<int, int>>> tied(4);
  const auto errors = runConnected(Wiring::kGloo, 4, [&](Transport& transport) {
    RoutedWork work(chainRoutes(4), ties);
    Executor executor(plan, work, transport);
    for (int step = 0; step < 2; ++step) executor.runStep(step);
    executor.finish();
    tied[static_cast<std::size_t>(transport.rank())] = work.tied_;
    EXPECT_EQ(work.optimizerSteps_, 2);
  });
  for (const std::string& error : errors) EXPECT_EQ(error, "");
  using Uses = std::vector<std::pair<int, int>>;
  EXPECT_EQ(tied[0], (Uses{{0, 1}, {0, 2}, {0, 1}, {0, 2}}));
  EXPECT_EQ(tied[1], (Uses{{1, 1}, {1, 1}}));
  EXPECT_EQ(tied[2], (Uses{{0, 0}, {0, 0}}));
  EXPECT_EQ(tied[3], (Uses{{1, 0}, {1, 0}}));
}

TEST(TensorRoutes, RoutesThatCannotBeAreRefused) {
  const CheckedPlan plan = buildSchedule("1F1B", 3, 4);
  const auto refuse = [&](const TensorRoutes& routes) {
    EXPECT_THROW(rankProgram(plan, 0, 2, {routes, {}}), Error);
  };
  refuse({{0, 1}});
  refuse({{0, 1}, {1, 2, false}});
  refuse({{0, 1}, {1, 2}, {2, 3}});
  refuse({{0, 1}, {1, 2}, {2, 1}});
  EXPECT_NO_THROW(rankProgram(plan, 0, 2, {{{0, 1}, {1, 2}, {0, 2, false}}, {}}));
}

}  // namespace
}  // namespace pipetrace
