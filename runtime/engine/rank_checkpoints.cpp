#include "runtime/engine/rank_checkpoints.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/scalar_tensor.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/checkpoint/checkpoint_steps.h"
#include "schedule/fingerprint.h"
#include "trace/error.h"

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

std::vector<int> allRanks(const Plan& plan) {
  std::vector<int> ranks;
  for (int rank = 0; rank < plan.numRanks(); ++rank) ranks.push_back(rank);
  return ranks;
}

/// The text of the Error that `body` throws; "" for none.
template <typename Body>
std::string errorIn(const Body& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::vector<std::string> blockNames(const Model& model) {
  std::vector<std::string> names;
  for (const Block& block : model.blocks) names.push_back(block.name);
  return names;
}

}  // namespace

RankCheckpoints::RankCheckpoints(const EngineShared& shared, SessionRank& rank,
                                 TrainedStages& stages)
    : shared_(shared),
      rank_(rank),
      stages_(stages),
      writer_(std::make_unique<CheckpointWriter>(shared.options.checkpoints.folder)) {
  std::string error;
  if (isRoot()) {
    error = errorIn(
        [&] { folder_ = std::make_unique<CheckpointFolder>(shared_.options.checkpoints.folder); });
  }
  shareError(error);
}

RankCheckpoints::~RankCheckpoints() = default;

/// Throws the first error that a rank has, on all of them.
void RankCheckpoints::shareError(const std::string& error) {
  const auto all = rank_.hosts().gather(allRanks(*shared_.plan), 0, {asTensor(error)});
  std::vector<at::Tensor> first;
  if (isRoot()) {
    std::string found;
    for (const std::vector<at::Tensor>& each : all) {
      if (found.empty()) found = asText(each.at(0));
    }
    first.push_back(asTensor(found));
  }
  rank_.hosts().broadcast(0, first);
  if (const std::string text = asText(first.at(0)); !text.empty()) throw Error(text);
}

bool RankCheckpoints::isWriter(int stage) const {
  return shared_.plan->ranksOf(stage).front() == rank_.rank();
}

std::vector<LiveBlock> RankCheckpoints::liveBlocks(bool ofWriter) const {
  std::vector<LiveBlock> blocks;
  for (const auto& [number, stage] : stages_.stages()) {
    if (ofWriter && !isWriter(number)) continue;
    LiveBlock live;
    if (stages_.hasVersions()) {
      WeightStash& stash = *stages_.stashes().at(number);
      stash.use(stash.newest());
      live.optimizer = &stash.optimizer();
      live.optimized = stash.masters();
    } else {
      live.optimizer = &stages_.theOptimizer();
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

int RankCheckpoints::resume() {
  const CheckpointOptions& options = shared_.options.checkpoints;
  stages_.keepVersions(shared_.plan->isAsynchronous());
  if (!options.resumes) return 0;
  std::vector<double> step{-1};
  std::string error;
  if (isRoot()) {
    error = errorIn([&] {
      std::optional<std::int64_t> found = options.resumeStep;
      if (!found) found = newestCheckpoint(options.folder);
      if (!found) throw Error("there is no checkpoint in " + options.folder + " to go on from");
      step[0] = static_cast<double>(*found);
    });
  }
  shareError(error);
  rank_.hosts().broadcast(0, step);
  const auto from = static_cast<int>(step.at(0));
  std::vector<LiveBlock> blocks;
  std::vector<BlockState> states;
  std::optional<Checkpoint> checkpoint;
  error = errorIn([&] {
    blocks = liveBlocks(/*ofWriter=*/false);
    checkpoint.emplace(options.folder, from);
    checkpoint->requireModel(blockNames(shared_.model));
    if (!blocks.empty()) checkpoint->requireOptimizer(optimizerName(*blocks.front().optimizer));
    states = checkpoint->read(blocks);
  });
  shareError(error);
  restore(states, blocks);
  const Manifest& manifest = checkpoint->manifest();
  stages_.agreement().goOnWith(manifest.scale);
  if (isRoot()) {
    folder_->removeAfter(from);
    const std::string now = fingerprintText(fingerprint(*shared_.plan));
    shared_.say("note: goes on from step " + std::to_string(from) + " of " + options.folder +
                (manifest.fingerprint == now
                     ? ""
                     : ", which " + manifest.plan + " has saved, with the newest weights, under " +
                           shared_.plan->name));
  }
  saved_ = from;
  return from;
}

void RankCheckpoints::stepEnded(int ended) {
  if (underWay_) {
    const std::vector<at::Tensor> own{at::scalar_tensor(writer_->isBusy() ? 1 : 0, at::kLong)};
    const auto busy = rank_.hosts().gather(allRanks(*shared_.plan), 0, own);
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
  shareError(error);
  std::vector<BlockState> states;
  for (const LiveBlock& block : liveBlocks(/*ofWriter=*/true)) states.push_back(stateOf(block));
  writer_->save(ended, states);
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
  shareError(saved ? saved->error : "");
  const std::string files = filesText(saved ? saved->files : std::vector<BlockFile>());
  const auto all = rank_.hosts().gather(allRanks(*shared_.plan), 0, {asTensor(files)});
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
      for (const std::vector<at::Tensor>& each : all) {
        for (BlockFile& file : filesFromText(asText(each.at(0)))) {
          manifest.files.push_back(std::move(file));
        }
      }
      folder_->finishStep(manifest);
      folder_->keepNewest(std::max(1, shared_.options.checkpoints.keep));
    });
  }
  shareError(error);
}

std::string RankCheckpoints::nameOfOptimizer() const {
  const std::vector<LiveBlock> blocks = liveBlocks(/*ofWriter=*/false);
  return blocks.empty() ? "" : optimizerName(*blocks.front().optimizer);
}

}  // namespace pipetrace
