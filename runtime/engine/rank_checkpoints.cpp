#include "runtime/engine/rank_checkpoints.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/scalar_tensor.h>

#include <cstring>
#include <filesystem>
#include <random>
#include <utility>

#include "profiler/cpu_stream.h"
#include "runtime/errors/error_text.h"
#include "schedule/fingerprint.h"
#include "trace/error.h"
#include "trace/files/output_file.h"
#include "trace/track.h"

namespace pipetrace {
namespace {

at::Tensor asTensor(const std::string& text) {
  at::Tensor bytes = at::empty({static_cast<std::int64_t>(text.size())}, at::kByte);
  if (!text.empty()) std::memcpy(bytes.mutable_data_ptr(), text.data(), text.size());
  return bytes;
}

std::string asText(const at::Tensor& bytes) {
  return {static_cast<const char*>(bytes.const_data_ptr()),
          static_cast<std::size_t>(bytes.numel())};
}

/// A state as tensors: number of the block, its name and the keys as text, each with a 0 after it;
/// then the tensors by key.
void append(std::vector<at::Tensor>& all, const BlockState& state) {
  std::string words = std::to_string(state.block) + '\0' + state.name + '\0';
  for (const auto& [key, tensor] : state.tensors) words += key + '\0';
  all.push_back(asTensor(words));
  for (const auto& [key, tensor] : state.tensors) all.push_back(tensor);
}

/// The reverse; `next` is behind the state then.
BlockState takeState(const std::vector<at::Tensor>& all, std::size_t& next) {
  const std::string words = asText(all.at(next++));
  std::vector<std::string> found;
  for (std::size_t at = 0; at < words.size();) {
    found.emplace_back(words.c_str() + at);
    at += found.back().size() + 1;
  }
  BlockState state{.block = std::stoi(found.at(0)), .name = found.at(1)};
  for (std::size_t i = 2; i < found.size(); ++i) {
    state.tensors.emplace_back(found[i], all.at(next++));
  }
  return state;
}

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

/// Two trainings in one folder would remove each other's checkpoints, and go on from the other's.
void requireNone(const std::string& folder) {
  const std::optional<std::int64_t> newest = newestCheckpoint(folder);
  if (!newest) return;
  throw Error("the folder " + folder + " has a checkpoint of step " + std::to_string(*newest) +
              " already, and a new training would mix its own with it; resume to go on from it, or "
              "name another folder");
}

}  // namespace

std::vector<std::string> blockNames(const Model& model) {
  std::vector<std::string> names;
  for (const Block& block : model.blocks) names.push_back(block.name);
  return names;
}

std::vector<LiveBlock> RankBlocks::live(bool ofWriter, bool withOptimizer) const {
  std::vector<LiveBlock> blocks;
  for (const auto& [number, stage] : stages_.stages()) {
    if (ofWriter && shared_.plan->ranksOf(number).front() != rank_.rank()) continue;
    LiveBlock live;
    if (stages_.hasVersions()) {
      WeightStash& stash = *stages_.stashes().at(number);
      stash.use(stash.newest());
      live.optimizer = withOptimizer ? &stash.optimizer() : nullptr;
      live.optimized = stash.masters();
    } else {
      live.optimizer = withOptimizer ? &stages_.theOptimizer() : nullptr;
    }
    for (std::size_t i = 0; i < stage->blocks().size(); ++i) {
      live.block = stage->cut().firstBlock + static_cast<int>(i);
      live.name = shared_.model.blocks[static_cast<std::size_t>(live.block)].name;
      live.module = stage->blocks()[i].get();
      blocks.push_back(live);
    }
  }
  return blocks;
}

std::vector<BlockState> RankBlocks::toWrite(const std::vector<LiveBlock>& own) {
  std::vector<BlockState> states;
  for (const LiveBlock& block : own) states.push_back(stateOf(block));
  if (!gathers()) return states;
  std::vector<at::Tensor> tensors;
  for (const BlockState& state : states) append(tensors, state);
  states.clear();
  for (const auto& each : rank_.hosts().gather(shared_.allRanks(), 0, tensors)) {
    for (std::size_t next = 0; next < each.size();) states.push_back(takeState(each, next));
  }
  return states;
}

std::vector<BlockState> RankBlocks::read(const std::string& folder,
                                         const std::optional<Checkpoint>& files,
                                         const std::vector<LiveBlock>& blocks) {
  if (gathers()) return readFromRoot(folder, files, blocks);
  std::vector<BlockState> states;
  shareError(errorIn([&] { states = files->read(blocks); }));
  return states;
}

/// Block by block, so that no rank keeps more than its own.
std::vector<BlockState> RankBlocks::readFromRoot(const std::string& folder,
                                                 const std::optional<Checkpoint>& files,
                                                 const std::vector<LiveBlock>& blocks) {
  std::vector<BlockState> states;
  std::string unfit;
  for (int number = 0; number < static_cast<int>(shared_.model.blocks.size()); ++number) {
    std::vector<at::Tensor> sent;
    if (isRoot()) {
      const std::string error = errorIn([&] { append(sent, files->read(number)); });
      sent.insert(sent.begin(), asTensor(error));
    }
    rank_.hosts().broadcast(0, sent);
    if (const std::string error = asText(sent.at(0)); !error.empty()) throw RunFailed(error);
    std::size_t next = 1;
    const BlockState state = takeState(sent, next);
    for (const LiveBlock& block : blocks) {
      if (block.block != number) continue;
      states.push_back(state);
      if (unfit.empty()) unfit = errorIn([&] { requireFits(folder, state, block); });
    }
  }
  shareError(unfit);
  return states;
}

std::vector<std::string> RankBlocks::textsOfAll(const std::string& own) {
  std::vector<std::string> texts;
  for (const auto& each : rank_.hosts().gather(shared_.allRanks(), 0, {asTensor(own)})) {
    texts.push_back(asText(each.at(0)));
  }
  return texts;
}

void RankBlocks::shareError(const std::string& error) {
  std::vector<at::Tensor> first;
  const std::vector<std::string> all = textsOfAll(error);
  if (isRoot()) {
    std::string found;
    for (const std::string& text : all) {
      if (found.empty()) found = text;
    }
    first.push_back(asTensor(found));
  }
  rank_.hosts().broadcast(0, first);
  if (const std::string text = asText(first.at(0)); !text.empty()) throw RunFailed(text);
}

void RankBlocks::requireShared(const std::string& folder) {
  if (!shared_.env || gathers()) return;
  // Nobody has looked for that name before, so no file system remembers that it is missing.
  std::vector<at::Tensor> name;
  std::string error;
  if (isRoot()) {
    std::random_device random;
    const std::string text = ".shared_" + std::to_string(random()) + "_" + std::to_string(random());
    name.push_back(asTensor(text));
    error = errorIn([&] { writeWholeFile(folder + "/" + text, ""); });
  }
  shareError(error);
  rank_.hosts().broadcast(0, name);
  const std::string path = folder + "/" + asText(name.at(0));
  std::error_code unread;
  if (!std::filesystem::exists(path, unread)) {
    error = "rank " + std::to_string(rank_.rank()) + " does not see rank 0's folder " + folder +
            "; choose a folder that all hosts share, or have rank 0 keep all files "
            "(--checkpoint-gather, CheckpointOptions::gathers)";
  }
  std::string shared = errorIn([&] { shareError(error); });
  if (isRoot()) std::filesystem::remove(path, unread);
  if (!shared.empty()) throw Error(shared);
}

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

std::optional<std::int64_t> firstCheckpoint(const CheckpointOptions& options, bool isRestart) {
  // A first start refuses checkpoints of other trainings, so those that a restart finds are its
  // own.
  if (!options.resumes && !isRestart) {
    requireNone(options.folder);
    return std::nullopt;
  }
  if (!isRestart && options.resumeStep) return options.resumeStep;
  const std::optional<std::int64_t> newest = newestCheckpoint(options.folder);
  // A restart without one died before the first was whole.
  if (newest || (isRestart && !options.resumes)) return newest;
  throw Error("there is no checkpoint in " + options.folder + " to go on from");
}

void requireFirstCheckpoint(const CheckpointOptions& options, const Model& model) {
  if (options.folder.empty()) return;
  const std::optional<std::int64_t> step = firstCheckpoint(options, /*isRestart=*/false);
  if (step) Checkpoint(options.folder, *step).requireModel(blockNames(model));
}

}  // namespace pipetrace
