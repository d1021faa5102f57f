#include "runtime/checkpoint/checkpoint.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <utility>

#include "runtime/checkpoint/checkpoint_folder.h"
#include "runtime/checkpoint/file_bytes.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

std::string missingText(const std::string& folder, std::int64_t step) {
  std::string text = folder + " has no checkpoint of step " + std::to_string(step);
  const std::vector<std::int64_t> steps = checkpointSteps(folder);
  if (steps.empty()) return text + ", and none of any other step";
  text += "; it has those of";
  for (const std::int64_t one : steps) {
    text += (one == steps.front() ? " " : ", ") + std::to_string(one);
  }
  return text;
}

Manifest manifestAt(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error("cannot read " + path);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  return readManifest(text, path);
}

Manifest readManifestOf(const std::string& folder, std::int64_t step) {
  const std::string path = stepFolder(folder, step) + "/" + Manifest::kFileName;
  if (!std::filesystem::exists(path)) throw Error(missingText(folder, step));
  Manifest manifest = manifestAt(path);
  if (manifest.step == step) return manifest;
  throw Error(path + " is that of step " + std::to_string(manifest.step) +
              ": the folder was renamed");
}

}  // namespace

Checkpoint::Checkpoint(const std::string& folder, std::int64_t step)
    : Checkpoint(stepFolder(folder, step), readManifestOf(folder, step)) {}

Checkpoint::Checkpoint(std::string folder, Manifest manifest)
    : folder_(std::move(folder)), manifest_(std::move(manifest)) {
  for (const BlockFile& file : manifest_.files) {
    requireSize(folder_ + "/" + file.file, file.bytes);
  }
}

Checkpoint Checkpoint::newest(const std::string& folder) {
  const auto step = newestCheckpoint(folder);
  if (!step) throw Error(folder + " has no checkpoint");
  return {folder, *step};
}

Checkpoint Checkpoint::at(const std::string& folder) {
  const std::string path = folder + "/" + Manifest::kFileName;
  if (!std::filesystem::exists(path)) {
    const auto step = newestCheckpoint(folder);
    throw Error(folder + " has no saved weights: " + Manifest::kFileName + " is missing" +
                (step ? "; it has checkpoints, such as " + stepFolder(folder, *step) : ""));
  }
  return {folder, manifestAt(path)};
}

void Checkpoint::requireModel(const std::vector<std::string>& names) const {
  if (static_cast<std::size_t>(manifest_.numBlocks) != names.size()) {
    throw Error(folder_ + " has a model of " + std::to_string(manifest_.numBlocks) +
                " blocks, and this one has " + std::to_string(names.size()));
  }
  for (int block = 0; block < manifest_.numBlocks; ++block) {
    const std::string& saved = fileOf(block, std::nullopt).blockName;
    const std::string& own = names[static_cast<std::size_t>(block)];
    if (saved == own) continue;
    throw Error(folder_ + " has another model: " + blockText(block, own) + " is called " + saved +
                " there");
  }
}

void Checkpoint::requireOptimizer(const std::string& name) const {
  if (manifest_.optimizer.empty() || manifest_.optimizer == name) return;
  throw Error(folder_ + " has the state of the optimizer " + manifest_.optimizer +
              ", and this run has " + name + "; take that one, or load the weights alone");
}

std::vector<BlockState> Checkpoint::read(const std::vector<LiveBlock>& blocks) const {
  std::vector<BlockState> states;
  for (const LiveBlock& block : blocks) {
    states.push_back(readBlockFile(folder_, fileOf(block.block, std::nullopt)));
    requireFits(folder_, states.back(), block);
  }
  return states;
}

BlockState Checkpoint::read(int block) const {
  return readBlockFile(folder_, fileOf(block, std::nullopt));
}

void requireFits(const std::string& folder, const BlockState& state, const LiveBlock& block) {
  try {
    requireFits(state, block);
  } catch (const Error& e) {
    throw Error(folder + " has another model: " + e.what());
  }
}

std::vector<int> Checkpoint::versionsOf(int block) const {
  std::vector<int> versions;
  for (const BlockFile& file : manifest_.files) {
    if (file.block == block && file.version) versions.push_back(*file.version);
  }
  std::sort(versions.begin(), versions.end());
  return versions;
}

BlockState Checkpoint::readVersion(int block, int version) const {
  return readBlockFile(folder_, fileOf(block, version));
}

void Checkpoint::verify() const {
  for (const BlockFile& file : manifest_.files) readBlockFile(folder_, file);
}

const BlockFile& Checkpoint::fileOf(int block, std::optional<int> version) const {
  for (const BlockFile& file : manifest_.files) {
    if (file.block == block && file.version == version) return file;
  }
  throw Error(folder_ + " has no " + blockFileName(block, version));
}

}  // namespace pipetrace
