#include "runtime/engine/weights_files.h"

#include <atomic>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/checkpoint/block_file.h"
#include "runtime/checkpoint/weights_folder.h"
#include "schedule/fingerprint.h"

namespace pipetrace {

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

}  // namespace pipetrace
