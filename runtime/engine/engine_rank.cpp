#include "runtime/engine/engine_rank.h"

#include <ATen/ops/scalar_tensor.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/checkpoint/block_file.h"
#include "runtime/checkpoint/checkpoint_folder.h"
#include "runtime/engine/say.h"
#include "runtime/engine/training_plan.h"
#include "runtime/errors/error_text.h"
#include "runtime/train/torch_work.h"
#include "schedule/fingerprint.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

/// Prints the steps of a training: every few steps a line. Where the rank that reports the loss has
/// a terminal, one line at its bottom changes, which has the bubble ratio so far.
///
/// Threads: the rank's own.
class FitProgress {
 public:
  /// All ranks make it together. `steps`: the number of the training's step after the last one. All
  /// must outlive it.
  FitProgress(const EngineShared& shared, SessionRank& rank, const FitOptions& options, int steps);
  ~FitProgress();
  FitProgress(const FitProgress&) = delete;
  FitProgress& operator=(const FitProgress&) = delete;

  /// After each step, on all ranks. `report` is the rank's own; only the one that reports the loss
  /// has its figures. `seconds`: what the step took. `computed`: SessionRank::computed().
  void stepEnded(const StepReport& report, double seconds, Nanoseconds computed);
  /// After the last step: shows it if it was not, and then `why` the training ended, if there is
  /// more to say than that it is done.
  void close(const std::string& why);

 private:
  using Clock = std::chrono::steady_clock;

  bool reports() const { return rank_.rank() == shared_.reporter(); }
  /// Bubbles' share of the steps' time so far, where it is known: on the rank that reports.
  std::optional<double> bubbleRatio(Nanoseconds computed);
  /// Shows the step before, on the terminal. `each`: seconds of a step with all around it.
  void show(std::optional<double> bubbleRatio, double each);
  void showPlain();

  const EngineShared& shared_;
  SessionRank& rank_;
  const FitOptions& options_;
  const int steps_;
  bool isOnTerminal_ = false;          // the same on all ranks
  int seen_ = 0;                       // steps
  int next_ = 0;                       // the step after which the line is shown again
  double seconds_ = 0;                 // of the steps after the first
  Nanoseconds before_ = 0;             // computed until the first had ended
  Clock::time_point begun_;            // when the first had ended
  std::optional<StepReport> unshown_;  // the step before, on the rank that reports
};

constexpr double kSecondsBetween = 0.2;  // two times that the line is shown

template <typename... Values>
std::string formatted(const char* format, Values... values) {
  char text[96];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

/// "1:05:00" or "5:00".
std::string asClock(double seconds) {
  const long long all = std::llround(seconds);
  constexpr int kMinute = 60;
  const long long minutes = all / kMinute;
  const auto rest = static_cast<int>(all % kMinute);
  if (minutes < kMinute) return formatted("%lld:%02d", minutes, rest);
  return formatted("%lld:%02lld:%02d", minutes / kMinute, minutes % kMinute, rest);
}

/// "2.3105".
std::string withFourDigits(double value) { return formatted("%.4f", value); }

/// ", accuracy 0.5000" for each.
std::string textOf(const std::map<std::string, double>& metrics) {
  std::string text;
  for (const auto& [name, value] : metrics) text += ", " + name + " " + withFourDigits(value);
  return text;
}

std::string lossOf(const StepReport& report) {
  return " loss " + withFourDigits(report.loss) + textOf(report.metrics);
}

std::string speedsOf(const StepReport& report, const FitOptions& options) {
  std::string text;
  if (report.samplesPerSecond > 0) {
    if (!options.itemName.empty()) {
      const double items = report.samplesPerSecond * options.itemsPerSample;
      text += ", " + std::to_string(std::llround(items)) + " " + options.itemName + "/s";
    }
    text += ", " + std::to_string(std::llround(report.samplesPerSecond)) + " samples/s";
  }
  if (report.mfu > 0) text += formatted(", MFU %.3f", report.mfu);
  if (!report.overflow.empty()) text += ", left out: " + report.overflow;
  return text;
}

double secondsSince(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// "step 12 loss 2.3105, 9876 tokens/s, 154 samples/s".
std::string lineOf(const StepReport& report, const FitOptions& options) {
  return "step " + std::to_string(report.step) + lossOf(report) + speedsOf(report, options);
}

FitProgress::FitProgress(const EngineShared& shared, SessionRank& rank, const FitOptions& options,
                         int steps)
    : shared_(shared), rank_(rank), options_(options), steps_(steps) {
  if (options_.logFreq <= 0) return;
  const bool own = !shared_.options.print && isStdoutATerminal();
  std::vector<double> isOnTerminal{own ? 1.0 : 0.0};
  rank_.hosts().broadcast(shared_.reporter(), isOnTerminal);
  isOnTerminal_ = isOnTerminal.at(0) != 0;
}

FitProgress::~FitProgress() {
  if (isOnTerminal_ && reports()) endProgress();
}

void FitProgress::stepEnded(const StepReport& report, double seconds, Nanoseconds computed) {
  const bool isLast = report.step + 1 == steps_;
  if (reports()) unshown_ = report;
  if (!isOnTerminal_) {
    const bool isDue = options_.logFreq > 0 && (report.step % options_.logFreq == 0 || isLast);
    if (isDue) showPlain();
    return;
  }
  if (seen_++ == 0) {
    // The first step also has what is done once, which says nothing about the others.
    before_ = computed;
    begun_ = Clock::now();
  } else {
    seconds_ += seconds;
  }
  if (report.step < next_ && !isLast) return;
  const std::optional<double> ratio = bubbleRatio(computed);
  // With what lies between steps: callbacks, evaluations, saves.
  const double each = seen_ > 1 ? secondsSince(begun_) / (seen_ - 1) : seconds;
  if (reports()) show(ratio, each);
  const double between = each > 0 ? std::min(1e6, kSecondsBetween / each) : 1;
  std::vector<double> next{report.step + std::max(1.0, std::ceil(between))};
  rank_.hosts().broadcast(shared_.reporter(), next);
  next_ = static_cast<int>(next.at(0));
}

void FitProgress::close(const std::string& why) {
  if (!reports()) return;
  if (isOnTerminal_) {
    if (unshown_) show(std::nullopt, 0);
    endProgress();
  } else if (options_.logFreq > 0) {
    showPlain();
  }
  if (!why.empty()) shared_.print(why);
}

void FitProgress::showPlain() {
  if (unshown_) shared_.print(lineOf(*unshown_, options_));
  unshown_.reset();
}

std::optional<double> FitProgress::bubbleRatio(Nanoseconds computed) {
  if (rank_.device() != nullptr) return std::nullopt;
  const double busy = static_cast<double>(computed - before_) / kNsPerSecond;
  double sumBusy = 0;
  double sumAll = 0;
  for (const std::vector<at::Tensor>& each : rank_.hosts().gather(
           shared_.allRanks(), shared_.reporter(),
           {at::scalar_tensor(busy, at::kDouble), at::scalar_tensor(seconds_, at::kDouble)})) {
    sumBusy += each.at(0).item<double>();
    sumAll += each.at(1).item<double>();
  }
  if (sumAll <= 0) return std::nullopt;
  return 1 - sumBusy / sumAll;
}

void FitProgress::show(std::optional<double> bubbleRatio, double each) {
  const StepReport& report = *unshown_;
  std::string line = "step " + std::to_string(report.step) + lossOf(report);
  // First what a narrow terminal is to show.
  if (bubbleRatio) line += formatted(", bubble ratio %.3f", *bubbleRatio);
  const int left = steps_ - report.step - 1;
  if (left > 0 && each > 0) {
    line += ", " + std::to_string(left) + " steps left (" + asClock(left * each) + ")";
  }
  showProgress(line + speedsOf(report, options_));
  unshown_.reset();
}

void saveWeights(const EngineShared& shared, RankBlocks& blocks, const std::string& folder,
                 std::int64_t step) {
  std::unique_ptr<WeightsFolder> whole;
  std::string error;
  if (blocks.isRoot()) error = errorIn([&] { whole = std::make_unique<WeightsFolder>(folder); });
  blocks.shareError(error);
  const std::string aside = WeightsFolder::asideOf(folder);
  blocks.requireShared(aside);
  const std::vector<BlockState> states =
      blocks.toWrite(blocks.live(/*ofWriter=*/true, /*withOptimizer=*/false));
  std::vector<BlockFile> files;
  const std::atomic<bool> giveUp{false};
  blocks.shareError(errorIn([&] {
    for (BlockState state : states) {
      for (auto& [key, tensor] : state.tensors) tensor = tensor.cpu();
      files.push_back(writeBlockFile(aside, state, giveUp));
    }
  }));
  const std::vector<std::string> all = blocks.textsOfAll(filesText(files));
  error.clear();
  if (blocks.isRoot()) {
    error = errorIn([&] {
      Manifest manifest{.step = step,
                        .dataPosition = step,
                        .seed = shared.options.seed,
                        .plan = shared.plan->name,
                        .fingerprint = fingerprintText(fingerprint(*shared.plan)),
                        .numBlocks = static_cast<int>(shared.model.blocks.size())};
      for (const std::string& text : all) {
        for (BlockFile& file : filesFromText(text)) manifest.files.push_back(std::move(file));
      }
      whole->finish(manifest);
    });
  }
  blocks.shareError(error);
}

/// Engine::save() and load() on one rank. All ranks call them in the same order.
///
/// Throws Error with path and reason, the same on all ranks. `step`: how many steps of training
/// have ended.
void saveWeights(const EngineShared& shared, RankBlocks& blocks, const std::string& folder,
                 std::int64_t step);
/// Throws Error before any rank changes a weight.
void loadWeights(const EngineShared& shared, RankBlocks& blocks, const std::string& folder) {
  std::optional<Checkpoint> files;
  blocks.shareError(errorIn([&] {
    if (!blocks.hasFiles()) return;
    files = Checkpoint::at(folder);
    files->requireModel(blockNames(shared.model));
  }));
  const std::vector<LiveBlock> own = blocks.live(/*ofWriter=*/false, /*withOptimizer=*/false);
  restore(blocks.read(folder, files, own), own);
}

TrainedStagesOptions stagesOptionsOf(const EngineShared& shared, RankDevice* device) {
  return {.model = shared.model,
          .partition = shared.partition,
          .seed = shared.options.seed,
          .optimizer = shared.optimizer,
          .precision = shared.strategy.precision,
          .lossScale = lossScaleOf(shared.strategy),
          .clipNorm = shared.strategy.clipNorm,
          .stashUpdate = shared.strategy.stashUpdate,
          .device = device};
}

/// A step that was left out may have any loss.
void requireFinite(const StepReport& report) {
  if (std::isfinite(report.loss) || !report.overflow.empty()) return;
  throw Error("the loss of step " + std::to_string(report.step) +
              " is no finite number; training has failed, a smaller learning rate may help");
}

/// For the line of a step; "" where the optimizer took it.
std::string textOfOverflow(const StepAgreement& agreement) {
  if (!agreement.leftOutStep()) return "";
  const LossScale& scale = agreement.lossScale();
  char text[96];
  std::snprintf(text, sizeof text, "a gradient is no finite number; the loss scale is %s%g",
                scale.isDynamic() ? "now " : "", scale.value());
  return text;
}

/// An Error of `body` is that of all ranks, so each of them says it without a rank's name.
template <typename Body>
auto alikeOnAllRanks(const Body& body) {
  try {
    return body();
  } catch (const Error& error) {
    throw RunFailed(error.what());
  }
}

/// Each row of an evaluation has its place.
void requireRows(const Batch& batch, const RowRange& rows) {
  for (const auto& [name, tensor] : batch) {
    if (tensor.dim() > 0 && tensor.size(0) == rows.count) continue;
    throw Error("the data made " + std::to_string(tensor.dim() > 0 ? tensor.size(0) : 0) +
                " rows of " + name + " where " + std::to_string(rows.count) + " were asked for");
  }
}

}  // namespace

EngineRank::EngineRank(const EngineShared& shared, SessionRank& rank)
    : shared_(shared),
      rank_(rank),
      stages_(stagesOptionsOf(shared, rank.device()), shared.plan->stagesOfRank(rank.rank())),
      blocks_(shared, rank, stages_) {
  if (shared_.options.checkpoints.folder.empty()) return;
  checkpoints_ = std::make_unique<RankCheckpoints>(shared_, rank_, stages_);
  resumed_ = checkpoints_->resume();
  rank_.countStepsFrom(resumed_);
}

EngineRank::Program& EngineRank::training() {
  if (training_) return *training_;
  auto program = std::make_unique<Program>();
  program->work = std::make_unique<TorchWork>(
      stages_, TorchProgramOptions{.numMicroBatches = shared_.microBatches(),
                                   .replica = shared_.plan->replicaOf(rank_.rank()),
                                   .learningRate = shared_.options.learningRate,
                                   .reportsLoss = reports(),
                                   .metrics = shared_.metrics});
  const EngineOptions& options = shared_.options;
  program->inspected.emplace(InspectedTraining::Options{.every = options.inspectEvery,
                                                        .folder = shared_.folderOfInspections(),
                                                        .rank = rank_.rank(),
                                                        .ranks = shared_.plan->numRanks()},
                             *program->work);
  program->number = rank_.add(shared_.plan, program->inspected->work());
  program->steps = resumed_;
  training_ = std::move(program);
  return *training_;
}

EngineRank::Program& EngineRank::evaluating(bool predicts, int microBatches) {
  Program& program = evaluating_[{predicts, microBatches}];
  if (program.work) return program;
  program.work = std::make_unique<TorchWork>(
      stages_, TorchProgramOptions{.numMicroBatches = microBatches,
                                   .replica = shared_.plan->replicaOf(rank_.rank()),
                                   .reportsLoss = reports(),
                                   .metrics = predicts ? std::vector<Metric>() : shared_.metrics,
                                   .predicts = predicts});
  program.number = rank_.add(forwardsOf(shared_.plan, microBatches), *program.work,
                             predicts ? Phase::kPredict : Phase::kEvaluate);
  return program;
}

std::map<std::string, double> EngineRank::named(const std::vector<double>& metrics) const {
  std::map<std::string, double> all;
  for (std::size_t i = 0; i < metrics.size(); ++i) all[shared_.metrics[i].name] = metrics[i];
  return all;
}

StepReport EngineRank::reportOf(const FitOptions& options, int epoch, std::int64_t rows,
                                double seconds) const {
  const TorchWork& work = *training_->work;
  StepReport report{.step = training_->steps, .epoch = epoch};
  if (!work.loss()) return report;
  report.loss = *work.loss();
  report.metrics = named(*work.metrics());
  report.overflow = textOfOverflow(work.agreement());
  if (seconds > 0) report.samplesPerSecond = static_cast<double>(rows) / seconds;
  if (options.peakFlops > 0) {
    report.mfu = report.samplesPerSecond * options.flopsPerSample /
                 (options.peakFlops * shared_.plan->numRanks());
  }
  return report;
}

void EngineRank::printEvaluation(const Evaluation& evaluation) const {
  char text[64];
  std::snprintf(text, sizeof text, ", %lld rows in %.3g s", static_cast<long long>(evaluation.rows),
                evaluation.seconds);
  shared_.print("evaluation after step " + std::to_string(training_->steps - 1) + ": loss " +
                withFourDigits(evaluation.loss) + textOf(evaluation.metrics) + text);
}

/// Whether training goes on, which all ranks hear.
bool EngineRank::callBack(const FitOptions& options, const StepReport& report) {
  bool isDue = false;
  bool goesOn = true;
  for (const FitCallback& callback : options.callbacks) {
    if (report.step % callback.everySteps != 0) continue;
    isDue = true;
    if (!reports()) continue;
    const ProgressHidden hidden;
    if (!callback.call(report)) goesOn = false;
  }
  if (!isDue) return true;
  std::vector<double> said{goesOn ? 1.0 : 0.0};
  rank_.hosts().broadcast(shared_.reporter(), said);
  return said.at(0) != 0;
}

void EngineRank::fit(const DataSet& train, const FitOptions& options, FitResult& result) {
  Program& own = training();
  const int replicas = shared_.plan->replicas;
  const DataSteps data = alikeOnAllRanks(
      [&] { return DataSteps::ofTraining(train, replicas, shared_.microBatches()); });
  const int perEpoch =
      options.stepsPerEpoch > 0 ? std::min(options.stepsPerEpoch, data.count()) : data.count();
  const std::int64_t all = std::int64_t{options.epochs} * perEpoch;
  if (all < 1) return;
  if (all > std::numeric_limits<int>::max() - own.steps) {
    throw RunFailed(std::to_string(all) + " steps are more than a training can count");
  }
  const auto steps = static_cast<int>(all);
  // The steps of this call that were run before the checkpoint.
  const int before = std::exchange(resumed_, 0);
  if (before == steps && shared_.env && shared_.env->isRestart()) {
    // A rank failed, or its host was lost, after the last checkpoint was whole.
    if (reports()) {
      shared_.say("note: the checkpoint is of step " + std::to_string(before) +
                  ", the last one: this training had ended");
    }
    return;
  }
  if (before > 0 && before >= steps) {
    throw RunFailed("the checkpoint is of step " + std::to_string(before) +
                    ", and the training has " + std::to_string(steps) + " steps: none is left");
  }
  if (checkpoints_) checkpoints_->beginTraining(data.rowsOf(0).count);
  if (data.leftOut() > 0 && reports()) {
    shared_.say("note: " + std::to_string(data.leftOut()) +
                " rows of each epoch are in no step: they are too few for all replicas and "
                "micro-batches");
  }
  const int first = own.steps - before;
  own.work->loadFrom(
      [&, first](int step, int replica) {
        const RowRange rows = data.rowsOf((step - first) % perEpoch, replica);
        return train.batch(rows.first, rows.count);
      },
      own.steps, steps - before);
  FitProgress progress(shared_, rank_, options, first + steps);
  bool goesOn = true;
  for (int i = before; i < steps && goesOn; ++i) {
    const int epoch = i / perEpoch;
    const auto begin = std::chrono::steady_clock::now();
    rank_.runStep(own.number, own.steps);
    const double seconds = secondsSince(begin);
    own.inspected->stepEnded([this](const std::string& line) { shared_.say(line); });
    if (i == before) {
      const std::string note = noteOfEmptyHalves(shared_.plan, own.work->emptyHalves());
      if (!note.empty()) shared_.say("note: " + note);
    }
    const StepReport report = reportOf(options, epoch, data.rowsOf(i % perEpoch).count, seconds);
    if (own.work->loss()) {
      requireFinite(report);
      result.losses.push_back(report.loss);
      for (const auto& [name, value] : report.metrics) result.metrics[name].push_back(value);
    }
    progress.stepEnded(report, seconds, rank_.computed(own.number));
    goesOn = callBack(options, report);
    result.wasEnded = !goesOn;
    ++own.steps;
    if (checkpoints_) {
      checkpoints_->stepEnded(own.steps);
      result.stoppedBy = reasonToStop();
      if (!result.stoppedBy.empty()) {
        checkpoints_->save(own.steps);
        break;
      }
    }
    const bool endsEpoch = i % perEpoch + 1 == perEpoch;
    if (!endsEpoch || options.valid == nullptr || (epoch + 1) % options.validFreq != 0) continue;
    const Evaluation evaluation = evaluate(*options.valid, options.validSteps);
    if (!reports()) continue;
    result.evaluations.push_back(evaluation);
    printEvaluation(evaluation);
  }
  own.work->loadFrom({}, 0, 0);
  if (checkpoints_) {
    checkpoints_->save(own.steps);
    checkpoints_->finish();
  }
  progress.close(result.wasEnded
                     ? "a callback ended the training after step " + std::to_string(own.steps - 1)
                     : "");
}

/// Why the training ends after this step, on all ranks; "": it goes on.
std::string EngineRank::reasonToStop() {
  const CheckpointOptions& options = shared_.options.checkpoints;
  if (!options.onStop && options.exitAfterMinutes <= 0) return "";
  const StopSignal* const stop = shared_.options.stop;
  const int signal = options.onStop && stop != nullptr ? stop->received() : 0;
  const double minutes = secondsSince(begun_) / 60;
  const bool isOver = options.exitAfterMinutes > 0 && minutes >= options.exitAfterMinutes;
  constexpr int kIsOver = -1;  // no signal has that number
  const at::Tensor own = at::scalar_tensor(signal != 0 ? signal : isOver ? kIsOver : 0, at::kLong);
  std::vector<double> reason{0};
  for (const std::vector<at::Tensor>& each : rank_.hosts().gather(shared_.allRanks(), 0, {own})) {
    const auto ofRank = each.at(0).item<double>();
    // A signal goes before the time, the first rank's before others.
    if (reason[0] == 0 || (reason[0] == kIsOver && ofRank > 0)) reason[0] = ofRank;
  }
  rank_.hosts().broadcast(0, reason);
  if (reason.at(0) == 0) return "";
  if (reason.at(0) != kIsOver) {
    stoppedBy_ = static_cast<int>(reason.at(0));
    return std::string("stopped by SIG") + sigabbrev_np(stoppedBy_);
  }
  char text[64];
  std::snprintf(text, sizeof text, "%g minutes are over", options.exitAfterMinutes);
  return text;
}

void EngineRank::runForwards(
    const DataSet& data, bool predicts, int steps,
    const std::function<void(const TorchWork& work, RowRange rows)>& ended) {
  if (checkpoints_) checkpoints_->sayNotes();
  const DataSteps all =
      alikeOnAllRanks([&] { return DataSteps::ofEvaluation(data, shared_.plan->replicas); });
  const int count = steps > 0 ? std::min(steps, all.count()) : all.count();
  // Steps with fewer rows than micro-batches have a plan of their own.
  std::map<int, std::vector<int>> byMicroBatches;
  for (int step = 0; step < count; ++step) {
    const auto least =
        static_cast<int>(std::min<std::int64_t>(shared_.microBatches(), all.leastRowsOf(step)));
    byMicroBatches[least].push_back(step);
  }
  for (const auto& [microBatches, own] : byMicroBatches) {
    Program& program = evaluating(predicts, microBatches);
    const int first = program.steps;
    program.work->loadFrom(
        [&, first](int step, int replica) {
          const RowRange rows = all.rowsOf(own[static_cast<std::size_t>(step - first)], replica);
          Batch batch = data.batch(rows.first, rows.count);
          requireRows(batch, rows);
          return batch;
        },
        first, static_cast<int>(own.size()));
    for (const int step : own) {
      rank_.runStep(program.number, program.steps++);
      ended(*program.work,
            predicts ? all.rowsOf(step, shared_.plan->replicaOf(rank_.rank())) : all.rowsOf(step));
    }
    program.work->loadFrom({}, 0, 0);
  }
}

Evaluation EngineRank::evaluate(const DataSet& data, int steps) {
  const auto begin = std::chrono::steady_clock::now();
  double rows = 0;
  double loss = 0;
  std::vector<double> metrics(shared_.metrics.size());
  runForwards(data, /*predicts=*/false, steps, [&](const TorchWork& work, RowRange ofStep) {
    if (!work.loss()) return;
    const auto weight = static_cast<double>(ofStep.count);
    rows += weight;
    loss += *work.loss() * weight;
    const std::vector<double> own = *work.metrics();
    for (std::size_t i = 0; i < metrics.size(); ++i) metrics[i] += own[i] * weight;
  });
  if (rows == 0) return {};
  for (double& metric : metrics) metric /= rows;
  return {.loss = loss / rows,
          .metrics = named(metrics),
          .rows = static_cast<std::int64_t>(rows),
          .seconds = secondsSince(begin)};
}

void EngineRank::save(const std::string& folder) {
  saveWeights(shared_, blocks_, folder, training_ ? training_->steps : resumed_);
}

void EngineRank::load(const std::string& folder) { loadWeights(shared_, blocks_, folder); }

std::vector<PredictedRows> EngineRank::predict(const DataSet& data) {
  std::vector<PredictedRows> predicted;
  runForwards(data, /*predicts=*/true, 0, [&](const TorchWork& work, RowRange ofReplica) {
    for (const TorchWork::Prediction& each : work.predictions()) {
      PredictedRows& rows =
          predicted.emplace_back(PredictedRows{.first = ofReplica.first + each.firstRow});
      for (const at::Tensor& tensor : each.tensors) rows.tensors.push_back(tensor.cpu());
    }
  });
  return predicted;
}

InspectedTraining::InspectedTraining(const Options& options, TorchWork& work) : own_(work) {
  if (options.every == 0) return;
  inspected_.emplace(
      work, InspectOptions{
                .every = options.every,
                .rank = options.rank,
                .parameters = [&work](int stage) { return work.stage(stage).namedParameters(); },
                .lossScale = [&work] { return work.agreement().lossScale().value(); }});
  file_.emplace(options.folder, options.rank, options.ranks);
}

StageWork& InspectedTraining::work() {
  return inspected_ ? static_cast<StageWork&>(*inspected_) : own_;
}

void InspectedTraining::stepEnded(const std::function<void(const std::string& line)>& say) {
  if (!inspected_) return;
  const auto seen = inspected_->take();
  if (!seen || !file_->failure().empty()) return;
  file_->write(*seen);
  if (!file_->failure().empty()) say("note: " + file_->failure());
}

}  // namespace pipetrace
