#include "runtime/engine/rank_checkpoints.h"

#include <ATen/ops/scalar_tensor.h>

#include <utility>

#include "profiler/cpu_stream.h"
#include "runtime/checkpoint/checkpoint_folder.h"
#include "runtime/engine/first_checkpoint.h"
#include "schedule/fingerprint.h"
#include "trace/error.h"
#include "trace/track.h"

namespace pipetrace {
namespace {

constexpr const char* kRowsOfStep = "rows_of_step";  // of Manifest::notes: of all replicas

/// Records the writing beside the training, as an event of the job that made the copy. `copy` is
/// read when the writing begins.
CheckpointWriter::Around recordedIn(Recorder* recorder, const Job& copy) {
  if (recorder == nullptr || !recorder->isOn()) return {};
  const StreamId lane = recorder->addStream(std::string(kCheckpointLane),
                                            std::make_unique<CpuStream>(recorder->clock()));
  return [recorder, lane, &copy](const std::function<void()>& write) {
    recorder->begin(lane, {.kind = JobKind::kCopy, .step = copy.step, .id = copy.id});
    try {
      write();
    } catch (...) {
      recorder->end(lane);
      throw;
    }
    recorder->end(lane);
  };
}

}  // namespace

RankCheckpoints::RankCheckpoints(const EngineShared& shared, SessionRank& rank,
                                 TrainedStages& stages)
    : shared_(shared),
      rank_(rank),
      stages_(stages),
      blocks_(shared, rank, stages),
      writer_(std::make_unique<CheckpointWriter>(shared.options.checkpoints.folder,
                                                 recordedIn(rank.recorder(), copy_))) {
  const std::string& folder = shared_.options.checkpoints.folder;
  std::string error;
  if (isRoot()) error = errorIn([&] { folder_ = std::make_unique<CheckpointFolder>(folder); });
  blocks_.shareError(error);
  blocks_.requireShared(folder);
}

RankCheckpoints::~RankCheckpoints() = default;

int RankCheckpoints::resume() {
  const CheckpointOptions& options = shared_.options.checkpoints;
  stages_.keepVersions(shared_.plan->isAsynchronous());
  std::vector<double> step{-1};
  std::string error;
  const bool isRestart = shared_.env && shared_.env->isRestart();
  if (isRoot()) {
    error = errorIn([&] {
      if (const auto found = firstCheckpoint(options, isRestart)) {
        step[0] = static_cast<double>(*found);
      }
    });
  }
  blocks_.shareError(error);
  if (!options.resumes && !isRestart) return 0;
  rank_.hosts().broadcast(0, step);
  const auto from = static_cast<int>(step.at(0));
  if (from < 0) return 0;
  std::vector<LiveBlock> blocks;
  std::optional<Checkpoint> checkpoint;
  blocks_.shareError(errorIn([&] {
    blocks = blocks_.live(/*ofWriter=*/false, /*withOptimizer=*/true);
    if (!blocks_.hasFiles()) return;
    checkpoint.emplace(options.folder, from);
    checkpoint->requireModel(blockNames(shared_.model));
    if (!blocks.empty()) checkpoint->requireOptimizer(optimizerName(*blocks.front().optimizer));
  }));
  restore(blocks_.read(stepFolder(options.folder, from), checkpoint, blocks), blocks);
  shareScale(checkpoint);
  if (isRoot()) {
    const Manifest& manifest = checkpoint->manifest();
    folder_->removeAfter(from);
    const std::string now = fingerprintText(fingerprint(*shared_.plan));
    notes_.push_back("goes on from step " + std::to_string(from) + " of " + options.folder +
                     (manifest.fingerprint == now
                          ? ""
                          : ", which " + manifest.plan +
                                " has saved, with the newest weights, under " +
                                shared_.plan->name));
    if (manifest.seed != shared_.options.seed) {
      notes_.push_back("it was saved with seed " + std::to_string(manifest.seed) +
                       ", and goes on with seed " + std::to_string(shared_.options.seed));
    }
    const auto rows = manifest.notes.find(kRowsOfStep);
    if (rows != manifest.notes.end()) rowsBefore_ = rows->second;
  }
  saved_ = from;
  return from;
}

/// All ranks go on with the loss scale of rank 0's manifest.
void RankCheckpoints::shareScale(const std::optional<Checkpoint>& checkpoint) {
  std::vector<double> numbers;
  if (isRoot()) {
    const LossScale::State& saved = checkpoint->manifest().scale;
    numbers = {saved.value, saved.isDynamic ? 1.0 : 0.0,
               static_cast<double>(saved.stepsWithoutOverflow),
               static_cast<double>(saved.overflowsInARow)};
  }
  rank_.hosts().broadcast(0, numbers);
  stages_.agreement().goOnWith({.value = numbers.at(0),
                                .isDynamic = numbers.at(1) != 0,
                                .stepsWithoutOverflow = static_cast<int>(numbers.at(2)),
                                .overflowsInARow = static_cast<int>(numbers.at(3))});
}

void RankCheckpoints::beginTraining(std::int64_t rowsOfStep) {
  rows_ = std::to_string(rowsOfStep);
  if (!rowsBefore_.empty() && rowsBefore_ != rows_) {
    notes_.push_back("it was saved with steps of " + rowsBefore_ +
                     " rows, and goes on with steps of " + rows_ + ", from the rows of step " +
                     std::to_string(saved_) + " on");
  }
  rowsBefore_.clear();
  sayNotes();
}

void RankCheckpoints::sayNotes() {
  for (const std::string& note : notes_) shared_.say("note: " + note);
  notes_.clear();
}

void RankCheckpoints::stepEnded(int ended) {
  if (underWay_) {
    const std::vector<at::Tensor> own{at::scalar_tensor(writer_->isBusy() ? 1 : 0, at::kLong)};
    const auto busy = rank_.hosts().gather(shared_.allRanks(), 0, own);
    std::vector<double> isBusy{0};
    for (const std::vector<at::Tensor>& each : busy) {
      if (each.at(0).item<std::int64_t>() != 0) isBusy[0] = 1;
    }
    rank_.hosts().broadcast(0, isBusy);
    if (isBusy.at(0) == 0) finishSave();
  }
  const int every = shared_.options.checkpoints.everySteps;
  if (every > 0 && ended % every == 0) save(ended);
}

void RankCheckpoints::save(int ended) {
  if (saved_ == ended) return;
  finish();
  std::string error;
  if (isRoot()) error = errorIn([&] { folder_->beginStep(ended); });
  blocks_.shareError(error);
  rank_.runBetweenSteps(JobKind::kCheckpoint, [&](const Job& job) {
    copy_ = job;
    const std::vector<BlockState> states =
        blocks_.toWrite(blocks_.live(/*ofWriter=*/true, /*withOptimizer=*/true));
    if (blocks_.hasFiles()) writer_->save(ended, states);
  });
  underWay_ = saved_ = ended;
}

void RankCheckpoints::finish() {
  if (underWay_) finishSave();
}

void RankCheckpoints::finishSave() {
  const int step = *underWay_;
  underWay_.reset();
  writer_->wait();
  const std::optional<SavedBlocks> saved = writer_->result();
  blocks_.shareError(saved ? saved->error : "");
  const std::vector<std::string> all =
      blocks_.textsOfAll(filesText(saved ? saved->files : std::vector<BlockFile>()));
  std::string error;
  if (isRoot()) {
    error = errorIn([&] {
      Manifest manifest{.step = step,
                        .dataPosition = step,
                        .seed = shared_.options.seed,
                        .scale = stages_.agreement().lossScale().state(),
                        .plan = shared_.plan->name,
                        .fingerprint = fingerprintText(fingerprint(*shared_.plan)),
                        .optimizer = nameOfOptimizer(),
                        .numBlocks = static_cast<int>(shared_.model.blocks.size())};
      if (!rows_.empty()) manifest.notes[kRowsOfStep] = rows_;
      for (const std::string& text : all) {
        for (BlockFile& file : filesFromText(text)) manifest.files.push_back(std::move(file));
      }
      folder_->finishStep(manifest);
      folder_->keepNewest(shared_.options.checkpoints.keep);
    });
  }
  blocks_.shareError(error);
}

std::string RankCheckpoints::nameOfOptimizer() const {
  const std::vector<LiveBlock> blocks = blocks_.live(/*ofWriter=*/false, /*withOptimizer=*/true);
  return blocks.empty() ? "" : optimizerName(*blocks.front().optimizer);
}

}  // namespace pipetrace
