// A training that goes on under another plan has the losses of one that never stopped: those of
// torch in one thread, without executor, TorchWork or checkpoint.
#include <gmock/gmock.h>

#include <cmath>

#include "runtime/engine/engine.h"
#include "runtime/engine/training_plan.h"
#include "runtime/testing/plain_training.h"
#include "runtime/testing/rank_processes.h"
#include "runtime/testing/schedule_names.h"
#include "runtime/testing/training_parts.h"

namespace pipetrace {
namespace {

using testing::kPlainParts;
using testing::kPlainRows;
using testing::PlainCase;
using testing::PlainModel;
using testing::PlainTraining;
using testing::ScratchFolder;
using ::testing::SizeIs;

constexpr int kSavedAt = 4;
constexpr int kStepsAfter = 20;

Strategy strategyNamed(const std::string& schedule) {
  const bool hasTwoRanks = schedule == "DualPipe" || schedule == "Interleaved1F1B";
  return {.plan = {.schedule = schedule,
                   .ranks = hasTwoRanks ? 2 : 4,
                   .chunks = schedule == "Interleaved1F1B" ? 2 : 0,
                   .microBatches = kPlainParts}};
}

/// The losses of the steps that an engine runs, up to that one of the training.
std::vector<double> lossesUpTo(int end, const PlainCase& training, const Strategy& strategy,
                               CheckpointOptions checkpoints) {
  EngineOptions options{.seed = testing::kSeed, .checkpoints = std::move(checkpoints)};
  options.print = options.say = [](const std::string&) {};
  const OptimizerMaker maker = [&](const NamedParameters& parameters) {
    return testing::optimizerOf(training.isSgd, tensorsOf(parameters));
  };
  Engine engine(testing::modelOf(training), maker, {}, strategy, std::move(options));
  const DataSet data{.rows = std::int64_t{kPlainRows} * end,
                     .batchSize = kPlainRows,
                     .batch = [&](auto first, auto count) {
                       Batch batch = testing::batchOfStep(training.model,
                                                          static_cast<int>(first / kPlainRows));
                       for (auto& [name, tensor] : batch)
                         tensor = tensor.narrow(0, first % kPlainRows, count);
                       return batch;
                     }};
  std::vector<double> losses = engine.fit(data, {.logFreq = 0}).losses;
  engine.finish();
  return losses;
}

void expectLosses(const std::vector<double>& found, const std::vector<double>& expected,
                  PlainModel model, const std::string& what) {
  ASSERT_THAT(found, SizeIs(expected.size())) << what;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double most = model == PlainModel::kChain ? 0 : 1e-6 * expected[i];
    EXPECT_NEAR(found[i], expected[i], most) << what << ", step " << i;
  }
}

struct Resumed {
  std::string from;
  PlainModel model;
  bool isSgd;
};

std::vector<Resumed> allResumed() {
  std::vector<Resumed> all;
  for (const char* const from : {"1F1B", "Interleaved1F1B", "PipeDream"}) {
    for (const PlainModel model : {PlainModel::kChain, PlainModel::kRich}) {
      for (const bool isSgd : {true, false}) all.push_back({from, model, isSgd});
    }
  }
  return all;
}

std::string nameOf(const Resumed& resumed) {
  return testing::asTestName(resumed.from) +
         (resumed.model == PlainModel::kChain ? "Chain" : "Rich") +
         (resumed.isSgd ? "Sgd" : "AdamW");
}

void PrintTo(const Resumed& resumed, std::ostream* out) { *out << nameOf(resumed); }

class ResumedLosses : public ::testing::TestWithParam<Resumed> {};

INSTANTIATE_TEST_SUITE_P(All, ResumedLosses, ::testing::ValuesIn(allResumed()),
                         [](const auto& test) { return nameOf(test.param); });

TEST_P(ResumedLosses, AreThoseOfTheUninterruptedRunOfTheNewPlan) {
  const auto& [from, model, isSgd] = GetParam();
  const bool isPipeDream = from == "PipeDream";
  const PlainCase training{.model = model, .isSgd = isSgd, .hasTies = !isPipeDream};
  const ScratchFolder folder;
  const Strategy before = strategyNamed(from);
  lossesUpTo(kSavedAt, training, before, {.folder = folder.path(), .everySteps = kSavedAt});
  for (const char* const to : {"ZB-H1", "DualPipe", "FThenB"}) {
    const std::vector<double> found =
        lossesUpTo(kSavedAt + kStepsAfter, training, strategyNamed(to),
                   {.folder = folder.path(), .resumes = true, .resumeStep = kSavedAt});
    PlainTraining plain(training);
    if (isPipeDream) {
      plain.trainAsPipeDream(*planOf(before), kSavedAt);
    } else {
      plain.train(*planOf(before), kSavedAt);
    }
    expectLosses(found, plain.train(*planOf(strategyNamed(to)), kStepsAfter), model, to);
  }
}

/// From 4 stages to 2 to 3, each from the checkpoint of the one before.
void expectLossesOfThreeNumbersOfStages(const PlainCase& training) {
  const ScratchFolder folder;
  PlainTraining plain(training);
  int end = 0;
  for (const int ranks : {4, 2, 3}) {
    const int begin = end;
    end += begin == 0 ? kSavedAt : kStepsAfter;
    const Strategy strategy{
        .plan = {.schedule = "1F1B", .ranks = ranks, .microBatches = kPlainParts}};
    const std::vector<double> found =
        lossesUpTo(end, training, strategy,
                   {.folder = folder.path(), .everySteps = end, .resumes = begin > 0});
    expectLosses(found, plain.train(*planOf(strategy), end - begin), training.model,
                 std::to_string(ranks) + " stages");
  }
}

TEST(ResumedLossesTest, AreThoseOfTheUninterruptedRunOfOtherNumbersOfStages) {
  for (const bool isSgd : {true, false}) expectLossesOfThreeNumbersOfStages({.isSgd = isSgd});
  expectLossesOfThreeNumbersOfStages({.model = PlainModel::kRich});
}

// Shows that the tests above can fail.
TEST(ResumedLossesTest, WithoutTheOptimizersStateTheyAreOthers) {
  for (const bool isSgd : {true, false}) {
    const Plan plan = *planOf(strategyNamed("FThenB"));
    PlainTraining whole({.isSgd = isSgd});
    PlainTraining forgetful({.isSgd = isSgd});
    whole.train(plan, kSavedAt);
    forgetful.train(plan, kSavedAt);
    forgetful.forgetOptimizer();
    const std::vector<double> losses = whole.train(plan, 2);
    const std::vector<double> others = forgetful.train(plan, 2);
    EXPECT_EQ(others[0], losses[0]) << "the weights are the same";
    EXPECT_GT(std::abs(others[1] - losses[1]), 1e-5 * losses[1]);
  }
}

}  // namespace
}  // namespace pipetrace
