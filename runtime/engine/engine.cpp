#include "runtime/engine/engine.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/scalar_tensor.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <mutex>
#include <numeric>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "profiler/switches.h"
#include "runtime/costs/measure_costs.h"
#include "runtime/device/rank_device.h"
#include "runtime/engine/auto_partition.h"
#include "runtime/engine/engine_main.h"
#include "runtime/engine/engine_rank.h"
#include "runtime/engine/engine_shared.h"
#include "runtime/engine/say.h"
#include "runtime/engine/training_plan.h"
#include "runtime/session/session.h"
#include "runtime/stage_work.h"
#include "runtime/train/model/model_cut.h"
#include "schedule/simulate/simulate.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

RunFacts factsOf(const EngineShared& shared) {
  RunFacts facts =
      factsOf({shared.plan, shared.partition, {}}, shared.strategy, shared.options.seed);
  facts.insert(facts.end(), shared.options.facts.begin(), shared.options.facts.end());
  return facts;
}

std::string logDirectoryOf(const EngineOptions& options) {
  if (options.isLogDirectoryFinal) return options.logDirectory;
  const Switches switches = Switches::fromEnvironment();
  const std::string folder =
      switches.logDirectory.empty() ? options.logDirectory : switches.logDirectory;
  if (switches.isOn) return folder.empty() ? "logs" : folder;
  return switches.isOn.isDecided() ? "" : folder;
}

/// The rows in their order, each tensor in one piece.
std::vector<at::Tensor> joined(std::vector<PredictedRows> rows) {
  std::sort(rows.begin(), rows.end(),
            [](const PredictedRows& a, const PredictedRows& b) { return a.first < b.first; });
  std::vector<at::Tensor> all;
  const std::size_t count = rows.empty() ? 0 : rows.front().tensors.size();
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<at::Tensor> parts;
    for (const PredictedRows& part : rows) parts.push_back(part.tensors[i]);
    all.push_back(at::cat(parts));
  }
  return all;
}

void requireAtLeast(double least, double value, const char* field) {
  if (value >= least) return;
  char text[96];
  std::snprintf(text, sizeof text, "%s is %g, and must be at least %g", field, value, least);
  throw Error(text);
}

}  // namespace

std::vector<int> EngineShared::allRanks() const {
  std::vector<int> ranks(static_cast<std::size_t>(plan->numRanks()));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

std::string EngineShared::folderOfInspections() const {
  if (!options.inspectFolder.empty()) return options.inspectFolder;
  return logDirectory.empty() ? "logs" : logDirectory;
}

void EngineShared::print(const std::string& line) const {
  options.print ? options.print(line) : sayOnStdout(line);
}

void EngineShared::say(const std::string& line) const {
  options.say ? options.say(line) : sayOnStderr(line);
}

std::optional<ProcessEnv> placeOf(const EngineOptions& options) {
  if (options.env) return options.env;
  const char* const worldSize = std::getenv("WORLD_SIZE");
  if (worldSize == nullptr || std::string_view(worldSize) == "1") return std::nullopt;
  return readProcessEnv();
}

void requireMeaning(const EngineOptions& options) {
  requireAtLeast(0, options.inspectEvery, "EngineOptions::inspectEvery");
  requireAtLeast(0, static_cast<double>(options.stepTimeout), "EngineOptions::stepTimeout");
  requireAtLeast(0, static_cast<double>(options.silence), "EngineOptions::silence");
  requireAtLeast(1, static_cast<double>(options.connectTimeout), "EngineOptions::connectTimeout");
  requireAtLeast(1, static_cast<double>(options.linkTimeout), "EngineOptions::linkTimeout");
  const CheckpointOptions& checkpoints = options.checkpoints;
  requireAtLeast(1, checkpoints.keep, "CheckpointOptions::keep");
  requireAtLeast(0, checkpoints.everySteps, "CheckpointOptions::everySteps");
  requireAtLeast(0, checkpoints.exitAfterMinutes, "CheckpointOptions::exitAfterMinutes");
  const bool wants = checkpoints.everySteps > 0 || checkpoints.resumes || checkpoints.onStop ||
                     checkpoints.exitAfterMinutes > 0;
  if (wants && checkpoints.folder.empty()) {
    throw Error("checkpoints need a folder (CheckpointOptions::folder)");
  }
}

void requireMeaning(const FitOptions& options) {
  requireAtLeast(1, options.epochs, "FitOptions::epochs");
  requireAtLeast(0, options.stepsPerEpoch, "FitOptions::stepsPerEpoch");
  requireAtLeast(1, options.validFreq, "FitOptions::validFreq");
  requireAtLeast(0, options.validSteps, "FitOptions::validSteps");
  requireAtLeast(0, options.logFreq, "FitOptions::logFreq");
  for (const FitCallback& callback : options.callbacks) {
    requireAtLeast(1, callback.everySteps, "FitCallback::everySteps");
    if (!callback.call) throw Error("a callback has no function (FitCallback::call)");
  }
}

void requireNames(const std::vector<Metric>& metrics) {
  std::set<std::string> names{"loss"};
  for (const Metric& metric : metrics) {
    if (metric.name.empty()) throw Error("a metric has no name");
    if (!metric.value) throw Error("the metric " + metric.name + " has no function");
    if (names.insert(metric.name).second) continue;
    throw Error(metric.name == "loss" ? "a metric cannot be called loss, as the loss is"
                                      : "two metrics are called " + metric.name);
  }
}

EngineCost costOf(const CheckedPlan& plan, const Costs& costs) {
  const Simulation simulation = simulate(plan, costs);
  EngineCost cost{.step = simulation.length, .costs = costs};
  Nanoseconds busy = 0;
  for (const Simulation::Rank& rank : simulation.ranks) {
    busy += rank.busy;
    cost.peakBytes.push_back(rank.peakMemory);
  }
  const double all =
      static_cast<double>(simulation.length) * static_cast<double>(simulation.ranks.size());
  if (all > 0) cost.bubbleRatio = 1 - static_cast<double>(busy) / all;
  return cost;
}

Batch firstMicroBatch(const Plan& plan, const DataSet& data) {
  const std::int64_t rows = std::min(data.rows, data.batchSize);
  const MicroBatchRows split{.rows = rows, .microBatches = plan.microBatchesOfReplica()};
  if (rows < split.microBatches) {
    throw Error("a step of " + std::to_string(rows) + " rows has none for some of its " +
                std::to_string(split.microBatches) + " micro-batches");
  }
  Batch first = data.batch(0, rows);
  for (auto& [name, tensor] : first) tensor = tensor.narrow(0, 0, split.countOf(0));
  return first;
}

EngineCost measuredCostOf(const EngineShared& shared, const DataSet& data) {
  const Plan& plan = *shared.plan;
  if (shared.options.device != "cpu") {
    throw Error("cost() measures on the CPU; give it costs that were measured on " +
                shared.options.device);
  }
  const Batch first = firstMicroBatch(plan, data);
  const BestPartitionOptions asBlocksAre;
  const MeasuredCosts measured = measureCosts({.model = shared.model,
                                               .partition = shared.partition,
                                               .seed = shared.options.seed,
                                               .optimizer = shared.optimizer,
                                               .precision = shared.strategy.precision},
                                              plan, first, asBlocksAre.measured);
  EngineCost cost = costOf(shared.plan, measured.costs);
  for (std::size_t rank = 0; rank < cost.peakBytes.size(); ++rank) {
    for (const int stage : plan.stagesOfRank(static_cast<int>(rank))) {
      cost.peakBytes[rank] += measured.updating[static_cast<std::size_t>(stage)];
    }
  }
  return cost;
}

static EngineShared sharedOf(Model model, OptimizerMaker optimizer, std::vector<Metric> metrics,
                             Strategy strategy, EngineOptions options,
                             std::vector<std::string>& notes) {
  const bool isInLine = options.nccl == NcclCommunicators::kRank;
  TrainingPlan training = trainingPlanOf(strategy, static_cast<int>(model.blocks.size()), isInLine);
  notes = std::move(training.notes);
  std::optional<ProcessEnv> env = placeOf(options);
  std::string logDirectory = logDirectoryOf(options);
  return {.model = std::move(model),
          .optimizer = std::move(optimizer),
          .metrics = std::move(metrics),
          .strategy = std::move(strategy),
          .options = std::move(options),
          .plan = std::move(training.plan),
          .partition = std::move(training.partition),
          .logDirectory = std::move(logDirectory),
          .env = std::move(env)};
}

class Engine::Impl {
 public:
  Impl(Model model, OptimizerMaker optimizer, std::vector<Metric> metrics, Strategy strategy,
       EngineOptions options)
      : device_(openDevices(options.device)),
        shared_(sharedOf(std::move(model), std::move(optimizer), std::move(metrics),
                         std::move(strategy), std::move(options), notes_)) {
    prepare();
  }

  const EngineShared& shared() const { return shared_; }
  bool reports() const { return !shared_.env || shared_.env->rank == shared_.reporter(); }

  void prepare() {
    const Plan& plan = *shared_.plan;
    cutModel(shared_.model, shared_.partition, plan.numStages);
    requireFits(shared_.strategy, plan);
    if (shared_.env) requireWorldSize(plan, shared_.env->worldSize);
    requireMeaning(shared_.options);
    requireNames(shared_.metrics);
  }

  FitResult fit(const DataSet& train, const FitOptions& options) {
    requireMeaning(options);
    if (shared_.plan->isForwardOnly()) {
      throw Error("the plan " + shared_.plan->name + " has no backward pass, so it trains nothing");
    }
    FitResult result;
    int signal = 0;
    onRanks([&](EngineRank& rank, SessionRank& place) {
      FitResult unused;
      const bool reports = place.rank() == shared_.reporter();
      rank.fit(train, options, reports ? result : unused);
      if (reports || shared_.env) signal = rank.stoppedBy();
      if (shared_.env) {
        if (!reports) result.stoppedBy = unused.stoppedBy;
        shareResult(place, result);
      }
    });
    if (result.stoppedBy.empty()) return result;
    const std::string why =
        result.stoppedBy + "; the training is saved in " + shared_.options.checkpoints.folder;
    if (signal != 0) {
      session_->finish();
      throw StoppedBySignal(signal, why);
    }
    if (reports()) shared_.print(why);
    return result;
  }

  Evaluation evaluate(const DataSet& data, int steps) {
    if (steps < 0) throw Error("an evaluation cannot have " + std::to_string(steps) + " steps");
    Evaluation result;
    onRanks([&](EngineRank& rank, SessionRank& place) {
      Evaluation own = rank.evaluate(data, steps);
      if (shared_.env) {
        result = std::move(own);
        shareEvaluation(place, result);
      } else if (place.rank() == shared_.reporter()) {
        result = std::move(own);
      }
    });
    return result;
  }

  std::vector<at::Tensor> predict(const DataSet& data, bool everywhere) {
    std::vector<PredictedRows> rows;
    std::vector<at::Tensor> result;
    std::mutex mutex;
    onRanks([&](EngineRank& rank, SessionRank& place) {
      std::vector<PredictedRows> own = rank.predict(data);
      if (shared_.env) {
        result = gathered(place, std::move(own));
        if (everywhere) place.hosts().broadcast(shared_.reporter(), result);
        return;
      }
      const std::lock_guard lock(mutex);
      std::move(own.begin(), own.end(), std::back_inserter(rows));
    });
    return shared_.env ? result : joined(std::move(rows));
  }

  void save(const std::string& folder) {
    onRanks([&](EngineRank& rank, SessionRank&) { rank.save(folder); });
  }
  void load(const std::string& folder) {
    onRanks([&](EngineRank& rank, SessionRank&) { rank.load(folder); });
  }

  void finish() {
    if (session_) session_->finish();
  }

 private:
  using Body = std::function<void(EngineRank& rank, SessionRank& place)>;
  void onRanks(const Body& body) {
    if (!session_) begin();
    session_->run([&](SessionRank& place) { body(*ranks_[indexOf(place.rank())], place); });
  }

  void begin() {
    const EngineOptions& options = shared_.options;
    SessionOptions session{.plan = shared_.plan,
                           .blocks = blockPartitionOf(shared_.partition),
                           .env = shared_.env,
                           .store = options.store,
                           .facts = factsOf(shared_),
                           .connectTimeout = options.connectTimeout,
                           .linkTimeout = options.linkTimeout,
                           .stepTimeout = options.stepTimeout,
                           .silence = options.silence,
                           .overlaps = shared_.strategy.overlaps,
                           .device = device_,
                           .sharesDevices = options.sharesDevices,
                           .nccl = options.nccl,
                           .logDirectory = shared_.logDirectory,
                           .recordedSteps = Switches::fromEnvironment().steps,
                           .say = [this](const std::string& line) { shared_.say(line); }};
    if (!shared_.env || shared_.env->rank == 0) {
      for (const std::string& note : notes_) shared_.say("note: " + note);
    }
    session_.emplace(std::move(session));
    onStop_.emplace(
        options.stop,
        [this](const std::string& why) {
          // Else the ranks look for it after each step.
          if (!shared_.options.checkpoints.onStop) session_->stop(why);
        },
        StopCallback::Later::kNothing);
    ranks_.resize(shared_.env ? 1 : static_cast<std::size_t>(shared_.plan->numRanks()));
    session_->run([this](SessionRank& place) {
      ranks_[indexOf(place.rank())] = &place.keep(std::make_unique<EngineRank>(shared_, place));
    });
  }

  std::size_t indexOf(int rank) const { return shared_.env ? 0 : static_cast<std::size_t>(rank); }

  void shareEvaluation(SessionRank& place, Evaluation& evaluation) const {
    std::vector<double> numbers{evaluation.loss, static_cast<double>(evaluation.rows),
                                evaluation.seconds};
    for (const Metric& metric : shared_.metrics) numbers.push_back(evaluation.metrics[metric.name]);
    place.hosts().broadcast(shared_.reporter(), numbers);
    evaluation.loss = numbers.at(0);
    evaluation.rows = static_cast<std::int64_t>(numbers.at(1));
    evaluation.seconds = numbers.at(2);
    for (std::size_t i = 0; i < shared_.metrics.size(); ++i) {
      evaluation.metrics[shared_.metrics[i].name] = numbers.at(i + 3);
    }
  }

  void shareResult(SessionRank& place, FitResult& result) const {
    const int from = shared_.reporter();
    place.hosts().broadcast(from, result.losses);
    for (const Metric& metric : shared_.metrics) {
      place.hosts().broadcast(from, result.metrics[metric.name]);
    }
    std::vector<double> rest{result.wasEnded ? 1.0 : 0.0,
                             static_cast<double>(result.evaluations.size())};
    place.hosts().broadcast(from, rest);
    result.wasEnded = rest.at(0) != 0;
    result.evaluations.resize(static_cast<std::size_t>(rest.at(1)));
    for (Evaluation& evaluation : result.evaluations) shareEvaluation(place, evaluation);
  }

  /// On the rank that reports the loss: the rows of all ranks of the last stage.
  std::vector<at::Tensor> gathered(SessionRank& place, std::vector<PredictedRows> own) const {
    std::vector<at::Tensor> tensors;
    for (const PredictedRows& rows : own) {
      tensors.push_back(at::scalar_tensor(rows.first, at::kLong));
      tensors.insert(tensors.end(), rows.tensors.begin(), rows.tensors.end());
    }
    const Plan& plan = *shared_.plan;
    const auto all =
        place.hosts().gather(plan.ranksOf(plan.numStages - 1), shared_.reporter(), tensors);
    const std::size_t outputs = own.empty() ? 0 : own.front().tensors.size();
    std::vector<PredictedRows> rows;
    for (const std::vector<at::Tensor>& ofRank : all) {
      for (std::size_t i = 0; i + outputs < ofRank.size(); i += outputs + 1) {
        PredictedRows& each =
            rows.emplace_back(PredictedRows{.first = ofRank[i].item<std::int64_t>()});
        for (std::size_t k = 1; k <= outputs; ++k) each.tensors.push_back(ofRank[i + k]);
      }
    }
    return joined(std::move(rows));
  }

  std::vector<std::string> notes_;  // of the plan, for people
  const c10::DeviceType device_;
  const EngineShared shared_;
  std::optional<Session> session_;
  std::optional<StopCallback> onStop_;
  std::vector<EngineRank*> ranks_;
};

Engine::Engine(Model model, OptimizerMaker optimizer, std::vector<Metric> metrics,
               Strategy strategy, EngineOptions options)
    : impl_(std::make_unique<Impl>(std::move(model), std::move(optimizer), std::move(metrics),
                                   std::move(strategy), std::move(options))) {}

Engine::~Engine() = default;

bool Engine::reports() const { return impl_->reports(); }

void Engine::prepare() { impl_->prepare(); }

EngineCost Engine::cost(const Costs& costs) const { return costOf(impl_->shared().plan, costs); }

EngineCost Engine::cost(const DataSet& data) const { return measuredCostOf(impl_->shared(), data); }

FitResult Engine::fit(const DataSet& train, const FitOptions& options) {
  return impl_->fit(train, options);
}

Evaluation Engine::evaluate(const DataSet& data, int steps) { return impl_->evaluate(data, steps); }

std::vector<at::Tensor> Engine::predict(const DataSet& data, bool everywhere) {
  return impl_->predict(data, everywhere);
}

void Engine::save(const std::string& folder) { impl_->save(folder); }

void Engine::load(const std::string& folder) { impl_->load(folder); }

void Engine::finish() { impl_->finish(); }

}  // namespace pipetrace
