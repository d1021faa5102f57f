#include "runtime/engine/rank_blocks.h"

#include <ATen/ops/empty.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <random>
#include <utility>

#include "runtime/errors/error_text.h"
#include "trace/files/output_file.h"

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

}  // namespace pipetrace
