// Training by the engine has the bits of one process, and an evaluation changes none of them.
#include "runtime/engine/engine.h"

#include <ATen/ops/allclose.h>
#include <ATen/ops/arange.h>
#include <gmock/gmock.h>
#include <torch/optim/adam.h>

#include <csignal>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>

#include "runtime/engine/testing/resumed_case.h"
#include "runtime/engine/training_plan.h"
#include "runtime/starting_ranks/local_port.h"
#include "runtime/testing/error_of.h"
#include "runtime/testing/rank_processes.h"
#include "runtime/testing/run_ranks.h"
#include "runtime/testing/training_case.h"
#include "runtime/testing/training_parts.h"
#include "trace/error.h"
#include "trace/testing/file_text.h"

namespace pipetrace {
namespace {

using testing::CaseModel;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;
using testing::TrainingCase;
using testing::Wiring;

OptimizerMaker adam() {
  return [](const NamedParameters& parameters) {
    return std::make_unique<torch::optim::Adam>(tensorsOf(parameters),
                                                torch::optim::AdamOptions(testing::kRate));
  };
}

/// The case's batches, one after the other: those of the replicas of step 0 first.
DataSet dataOf(const TrainingCase& training, int replicas, int steps) {
  return {.rows = std::int64_t{training.rows} * replicas * steps,
          .batchSize = training.rows,
          .batch = [=](std::int64_t first, std::int64_t count) {
            const auto index = static_cast<int>(first / training.rows);
            Batch batch = testing::batchOf(training, index / replicas, index % replicas);
            for (auto& [name, tensor] : batch) {
              tensor = tensor.narrow(0, first % training.rows, count);
            }
            return batch;
          }};
}

Strategy strategyOf(const TrainingCase& training, const std::string& schedule, int ranks,
                    int replicas = 1) {
  return {.plan = {.schedule = schedule,
                   .ranks = ranks,
                   .microBatches = training.microBatches,
                   .replicas = replicas},
          .partition = testing::partitionOf(training)};
}

EngineOptions quiet() {
  return {.seed = testing::kSeed, .print = [](const std::string&) {}, .say = [](const auto&) {}};
}

Engine engineOf(const TrainingCase& training, const Strategy& strategy,
                std::vector<Metric> metrics = {}, EngineOptions options = quiet()) {
  return Engine(testing::modelOf(training), adam(), std::move(metrics), strategy,
                std::move(options));
}

/// Runs `body` in this process, or for each rank as if it were a process of its own.
void onRanks(Wiring wiring, int ranks, const std::function<void(const EngineOptions&)>& body) {
  if (wiring == Wiring::kInProcess) return body(quiet());
  const LocalPort port;
  const auto errors = testing::runRanks(ranks, [&](int rank) {
    EngineOptions options = quiet();
    options.env = testing::envOfRank(rank, ranks, port.number());
    body(options);
  });
  EXPECT_THAT(errors, Each(IsEmpty()));
}

std::vector<double> lossesOfOneProcess(const TrainingCase& training, const Strategy& strategy) {
  const CheckedPlan plan = planOf(strategy);
  const auto results = trainAlone(training, *plan);
  std::vector<double> losses;
  // After the loss of a step come the gradients.
  for (const at::Tensor& tensor : results[static_cast<std::size_t>(plan->lastRankOf(0))]) {
    if (tensor.dim() == 0 && tensor.scalar_type() == at::kDouble) {
      losses.push_back(tensor.item<double>());
    }
  }
  return losses;
}

TEST(Engine, FitGivesTheLossesOfOneProcess) {
  const auto expectSame = [](Wiring wiring, const std::string& schedule, int ranks, int replicas) {
    const TrainingCase training{.numStages = ranks, .microBatches = 4, .rows = 16};
    const Strategy strategy = strategyOf(training, schedule, ranks, replicas);
    const std::vector<double> losses = lossesOfOneProcess(training, strategy);
    ASSERT_THAT(losses, SizeIs(training.steps));
    onRanks(wiring, ranks * replicas, [&](const EngineOptions& options) {
      Engine engine = engineOf(training, strategy, {}, options);
      const FitResult result = engine.fit(dataOf(training, replicas, training.steps));
      engine.finish();
      EXPECT_EQ(result.losses, losses) << schedule;
    });
  };
  expectSame(Wiring::kInProcess, "1F1B", 4, 1);
  expectSame(Wiring::kInProcess, "1F1B", 2, 2);
  expectSame(Wiring::kInProcess, "DualPipe", 2, 1);
  expectSame(Wiring::kGloo, "1F1B", 2, 2);
}

// With dropout, so that random numbers count; in two calls, so that steps go on.
TEST(Engine, AnEvaluationBetweenTwoStepsChangesNoBitOfTraining) {
  const auto expectSame = [](Wiring wiring, const std::string& schedule, int ranks) {
    const bool isFlushed = schedule != "PipeDream";
    const TrainingCase training{.numStages = ranks,
                                .microBatches = 4,
                                .rows = 18,
                                .model = isFlushed ? CaseModel::kRich : CaseModel::kMlp};
    const Strategy strategy = strategyOf(training, schedule, ranks);
    std::vector<std::vector<double>> losses(2);
    for (const bool evaluates : {false, true}) {
      onRanks(wiring, ranks, [&](const EngineOptions& options) {
        Engine engine = engineOf(training, strategy, {}, options);
        std::vector<double> own;
        for (int call = 0; call < 3; ++call) {
          if (evaluates) engine.evaluate(dataOf(training, 1, 2));
          if (evaluates) engine.predict(dataOf(training, 1, 1));
          const std::vector<double> more = engine.fit(dataOf(training, 1, 2)).losses;
          own.insert(own.end(), more.begin(), more.end());
        }
        engine.finish();
        if (!options.env || options.env->rank == 0) losses[evaluates ? 1 : 0] = own;
      });
    }
    EXPECT_EQ(losses[0], losses[1]) << schedule;
    EXPECT_THAT(losses[0], SizeIs(6));
  };
  expectSame(Wiring::kInProcess, "1F1B", 4);
  expectSame(Wiring::kInProcess, "DualPipe", 4);
  expectSame(Wiring::kInProcess, "PipeDream", 3);
  expectSame(Wiring::kGloo, "1F1B", 2);
}

TEST(Engine, ARankThatIsKilledInAnEvaluationIsNamedWithStepAndPhase) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  const auto ends = testing::runProcesses(2, {self, "--evaluate-rank"});
  EXPECT_EQ(ends[1].exitCode, 128 + SIGKILL);
  EXPECT_NE(ends[0].exitCode, 0);
  // Step 0 of the run trains, 1 and 2 evaluate.
  EXPECT_THAT(ends[0].output, HasSubstr("rank 1 died, last seen in 1F2 of step 2 of the phase "
                                        "evaluate"));
  EXPECT_THAT(ends[0].output, HasSubstr("; this rank, 0, was "));
}

/// The share of right answers.
Metric accuracy() {
  return {.name = "accuracy", .value = [](const Tensors& inputs) {
            return inputs.at(0).argmax(1).eq(inputs.at(1)).to(at::kDouble).mean();
          }};
}

// 21 rows in steps of at most 8: three of 7, in micro-batches of 2, 2, 2 and 1. The
// predicted rows must be the same, in the same order, whatever the plan.
TEST(Engine, EvaluatesAndPredictsRaggedRowsAlikeUnderAllPlans) {
  const TrainingCase training{.numStages = 2, .microBatches = 4, .rows = 21};
  DataSet data = dataOf(training, 1, 1);
  const Batch all = data.batch(0, 21);
  data.batchSize = 8;
  Engine alone =
      engineOf({.numStages = 2, .microBatches = 1, .rows = 21},
               {.plan = {.ranks = 2}, .partition = testing::partitionOf(training)}, {accuracy()});
  DataSet whole = data;
  whole.batchSize = 21;
  const Tensors expected = alone.predict(whole);
  ASSERT_THAT(expected, SizeIs(1));
  ASSERT_EQ(expected[0].size(0), 21);
  const Evaluation figures = alone.evaluate(whole);
  const double right =
      expected[0].argmax(1).eq(all.at("targets")).to(at::kDouble).mean().item<double>();
  EXPECT_NEAR(figures.metrics.at("accuracy"), right, 1e-12);
  alone.finish();
  const auto expectSame = [&](Wiring wiring, const std::string& schedule, int replicas) {
    onRanks(wiring, 2 * replicas, [&](const EngineOptions& options) {
      Engine engine =
          engineOf(training, strategyOf(training, schedule, 2, replicas), {accuracy()}, options);
      const Evaluation found = engine.evaluate(data);
      EXPECT_NEAR(found.loss, figures.loss, 1e-6) << schedule;
      EXPECT_NEAR(found.metrics.at("accuracy"), right, 1e-12) << schedule;
      const Tensors predicted = engine.predict(data, /*everywhere=*/true);
      ASSERT_THAT(predicted, SizeIs(1)) << schedule;
      EXPECT_TRUE(at::allclose(predicted[0], expected[0], 1e-5, 1e-6)) << schedule;
      engine.finish();
    });
  };
  expectSame(Wiring::kInProcess, "1F1B", 1);
  expectSame(Wiring::kInProcess, "1F1B", 3);  // two or three rows of a replica
  expectSame(Wiring::kInProcess, "DualPipe", 1);
  expectSame(Wiring::kInProcess, "PipeDream", 1);
  expectSame(Wiring::kGloo, "1F1B", 2);
}

TEST(Engine, FitReportsMetricsAndEvaluationsOnAllRanks) {
  const TrainingCase training{.numStages = 2, .microBatches = 2, .rows = 8};
  onRanks(Wiring::kGloo, 4, [&](const EngineOptions& options) {
    Engine engine = engineOf(training, strategyOf(training, "1F1B", 2, 2), {accuracy()}, options);
    const DataSet data = dataOf(training, 2, 2);
    const FitResult result =
        engine.fit(data, {.epochs = 4, .valid = &data, .validFreq = 2, .logFreq = 0});
    EXPECT_THAT(result.losses, SizeIs(8));
    EXPECT_THAT(result.metrics.at("accuracy"), SizeIs(8));
    ASSERT_THAT(result.evaluations, SizeIs(2));
    EXPECT_LT(result.evaluations[1].loss, result.evaluations[0].loss);
    EXPECT_GT(result.evaluations[1].metrics.at("accuracy"), 0);
    EXPECT_EQ(result.evaluations[1].rows, data.rows);
    EXPECT_GT(result.evaluations[1].seconds, 0);
    // The model is the one that the next step begins with.
    const double next = engine.fit(data, {.stepsPerEpoch = 1}).losses.at(0);
    EXPECT_NEAR(engine.evaluate(data, 1).loss, next, 0.2);
    engine.finish();
  });
}

TEST(Engine, ACallbackEndsTrainingOnAllRanks) {
  const TrainingCase training{.numStages = 2, .microBatches = 2, .rows = 8};
  onRanks(Wiring::kGloo, 2, [&](const EngineOptions& options) {
    Engine engine = engineOf(training, strategyOf(training, "1F1B", 2), {}, options);
    const FitCallback ends{.everySteps = 2,
                           .call = [](const StepReport& report) { return report.step < 4; }};
    const FitResult result = engine.fit(dataOf(training, 1, 3), {.epochs = 5, .callbacks = {ends}});
    EXPECT_THAT(result.losses, SizeIs(5));
    EXPECT_TRUE(result.wasEnded);
    EXPECT_THAT(engine.fit(dataOf(training, 1, 3)).losses, SizeIs(3)) << "it can go on";
    engine.finish();
  });
}

TEST(Engine, ATrainingThatACallbackEndsShowsItsLastStepAndSaysSo) {
  const TrainingCase training{.numStages = 2, .microBatches = 2, .rows = 8};
  EngineOptions options = quiet();
  std::vector<std::string> lines;
  options.print = [&](const std::string& line) { lines.push_back(line); };
  Engine engine = engineOf(training, strategyOf(training, "1F1B", 2), {}, options);
  const FitCallback ends{.call = [](const StepReport& report) { return report.step < 4; }};
  engine.fit(dataOf(training, 1, 3), {.epochs = 5, .logFreq = 3, .callbacks = {ends}});
  EXPECT_THAT(lines,
              ElementsAre(HasSubstr("step 0 loss"), HasSubstr("step 3 loss"),
                          HasSubstr("step 4 loss"), "a callback ended the training after step 4"));
}

TEST(Engine, TheLineOfAnEvaluationHasItsRowsAndItsTime) {
  const TrainingCase training{.numStages = 2, .microBatches = 2, .rows = 8};
  EngineOptions options = quiet();
  std::vector<std::string> lines;
  options.print = [&](const std::string& line) { lines.push_back(line); };
  Engine engine = engineOf(training, strategyOf(training, "1F1B", 2), {}, options);
  const DataSet data = dataOf(training, 1, 3);
  engine.fit(data, {.valid = &data, .validSteps = 2, .logFreq = 0});
  EXPECT_THAT(lines, ElementsAre(::testing::ContainsRegex(
                         "^evaluation after step 2: loss [0-9.]+, 16 rows in [0-9.e-]+ s$")));
}

TEST(Engine, APlanWithoutBackwardPassesIsEvaluatedAndNotTrained) {
  const TrainingCase training{.numStages = 2, .microBatches = 2, .rows = 8};
  Engine engine = engineOf(training, strategyOf(training, "ForwardOnly", 2));
  EXPECT_THAT(testing::errorOf([&] { engine.fit(dataOf(training, 1, 1)); }),
              HasSubstr("ForwardOnly has no backward pass, so it trains nothing"));
  EXPECT_GT(engine.evaluate(dataOf(training, 1, 1)).loss, 0);
}

// Two steps of training, two of an evaluation, one that predicts, and one of training.
TEST(Engine, LogsHaveThePhaseOfEachStepAndNoNumberTwice) {
  const TrainingCase training{.numStages = 2, .microBatches = 2, .rows = 8};
  const testing::ScratchFolder folder;
  EngineOptions options = quiet();
  options.logDirectory = folder.path();
  Engine engine = engineOf(training, strategyOf(training, "1F1B", 2), {}, options);
  engine.fit(dataOf(training, 1, 2));
  engine.evaluate(dataOf(training, 1, 2));
  engine.predict(dataOf(training, 1, 1));
  engine.fit(dataOf(training, 1, 1));
  engine.finish();
  for (const char* const name : {"workerlog.0", "workerlog.1"}) {
    const std::string log = test::fileText(folder.path(name));
    std::map<std::string, std::string> phases;  // by step
    std::istringstream lines(log);
    for (std::string line; std::getline(lines, line);) {
      const auto after = [&](const std::string& key) {
        const std::size_t at = line.find(key + " = ");
        const std::size_t begin = at + key.size() + 3;
        return at == std::string::npos
                   ? ""
                   : line.substr(begin, line.find_first_of(",;\n ", begin) - begin);
      };
      if (line.find("type = forward") == std::string::npos) continue;
      phases[after("step")] = after("phase");
    }
    EXPECT_THAT(phases, ElementsAre(Pair("0", ""), Pair("1", ""), Pair("2", "evaluate"),
                                    Pair("3", "evaluate"), Pair("4", "predict"), Pair("5", "")))
        << log;
    EXPECT_THAT(log, HasSubstr("blocks = \"1,1\"")) << "of the two stages";
  }
}

TEST(Engine, AMetricThatThrowsIsNamedOnAllRanks) {
  const TrainingCase training{.numStages = 2, .microBatches = 2, .rows = 8};
  const Metric bad{.name = "perplexity", .value = [](const Tensors&) -> at::Tensor {
                     throw Error("no such vocabulary");
                   }};
  Engine engine = engineOf(training, strategyOf(training, "1F1B", 2), {bad});
  EXPECT_THAT(testing::errorOf([&] { engine.fit(dataOf(training, 1, 1)); }),
              HasSubstr("the metric perplexity: no such vocabulary"));
  EXPECT_THAT(testing::errorOf([&] { engine.fit(dataOf(training, 1, 1)); }),
              HasSubstr("has failed before"));
}

TEST(Engine, RefusesStrategiesThatDoNotFitBeforeAnythingRuns) {
  const TrainingCase training{.numStages = 2, .microBatches = 4, .rows = 8};
  const auto errorOf = [&](Strategy strategy) {
    return testing::errorOf([&] { engineOf(training, strategy); });
  };
  Strategy strategy = strategyOf(training, "1F1B", 2);
  strategy.partition = {.blocks = {1, 2}};
  EXPECT_THAT(errorOf(strategy), HasSubstr("blocks"));
  strategy = strategyOf(training, "2F2B", 2);
  EXPECT_THAT(errorOf(strategy), HasSubstr("2F2B"));
  strategy = strategyOf(training, "PipeDream", 2);
  strategy.clipNorm = 1;
  EXPECT_THAT(errorOf(strategy), HasSubstr("--clip-grad-norm"));
  EngineOptions onGpu = quiet();
  onGpu.device = "gpu";
  EXPECT_THAT(
      testing::errorOf([&] { engineOf(training, strategyOf(training, "1F1B", 2), {}, onGpu); }),
      HasSubstr("gpu"));
  Engine engine = engineOf(training, strategyOf(training, "1F1B", 2));
  DataSet few = dataOf(training, 1, 1);
  few.rows = 3;
  EXPECT_THAT(testing::errorOf([&] { engine.fit(few); }), HasSubstr("fewer than a step takes: 4"));
}

TEST(Engine, CostIsThatOfTheSimulation) {
  const TrainingCase training{.numStages = 4, .microBatches = 8, .rows = 8};
  const Engine engine = engineOf(training, strategyOf(training, "1F1B", 4));
  const EngineCost cost = engine.cost(Costs::equal(4, {10 * kNsPerMs, 20 * kNsPerMs}));
  EXPECT_EQ(cost.step, 330 * kNsPerMs);  // (m + p - 1)(F + B)
  EXPECT_NEAR(cost.bubbleRatio, 3 / 11.0, 1e-12);
}

TEST(Engine, CostCanBeMeasuredBeforeTheTrainingWhoseWeightsStay) {
  const TrainingCase training{.numStages = 2, .microBatches = 2, .rows = 8};
  const std::vector<double> losses =
      engineOf(training, strategyOf(training, "1F1B", 2)).fit(dataOf(training, 1, 3)).losses;
  Engine engine = engineOf(training, strategyOf(training, "1F1B", 2));
  const EngineCost cost = engine.cost(dataOf(training, 1, 3));
  EXPECT_GT(cost.step, 0);
  ASSERT_THAT(cost.peakBytes, SizeIs(2));
  for (const int stage : {0, 1}) {
    // At least weights, gradients and the two moments of Adam.
    EXPECT_GE(cost.peakBytes[static_cast<std::size_t>(stage)],
              4 * cost.costs.stages[static_cast<std::size_t>(stage)].weights);
  }
  EXPECT_EQ(engine.fit(dataOf(training, 1, 3)).losses, losses);
  const Engine forwards = engineOf(training, strategyOf(training, "ForwardOnly", 2));
  EXPECT_THAT(testing::errorOf([&] { forwards.cost(dataOf(training, 1, 3)); }),
              HasSubstr("ForwardOnly has no backward pass"));
  EXPECT_THAT(testing::errorOf([&] { engine.cost(DataSet{.rows = 1, .batchSize = 1}); }),
              HasSubstr("a step of 1 rows has none for some of its 2 micro-batches"));
}

}  // namespace
}  // namespace pipetrace
