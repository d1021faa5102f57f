#include "runtime/costs/measure_blocks.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "runtime/costs/measure_costs.h"

namespace pipetrace {
namespace {

/// Stages of two blocks, from `first` on. One block may be before them, and one left behind them.
std::vector<int> pairsFrom(int first, int numBlocks) {
  std::vector<int> blocks(static_cast<std::size_t>(first), 1);
  for (int block = first; block < numBlocks; block += 2) {
    blocks.push_back(std::min(2, numBlocks - block));
  }
  return blocks;
}

/// A tensor that two neighbours keep, each of them alone, is there once where they are a stage.
void addShared(BlockTable& table, TorchWorkOptions options, const Batch& microBatch) {
  for (const int offset : {0, 1}) {
    const std::vector<int> stages = pairsFrom(offset, table.numBlocks());
    if (std::find(stages.begin(), stages.end(), 2) == stages.end()) continue;
    options.partition = {.blocks = stages};
    const MeasuredCosts measured = measureStages(
        options, microBatch, {.wholeBackwards = false, .halves = true, .wanted = {.rounds = 0}});
    std::size_t block = 0;
    for (std::size_t stage = 0; stage < stages.size(); ++stage) {
      if (stages[stage] == 2) {
        const StageCosts& both = measured.costs.stages[stage];
        BlockCosts& first = table.blocks[block];
        const std::int64_t alone = first.activation + table.blocks[block + 1].activation;
        first.shared = std::max<std::int64_t>(0, alone - both.activation);
      }
      block += static_cast<std::size_t>(stages[stage]);
    }
  }
}

}  // namespace

BlockTable measureBlocks(TorchWorkOptions options, const Batch& microBatch,
                         const RoundsWanted& wanted) {
  options.partition = {.blocks = std::vector<int>(options.model.blocks.size(), 1)};
  BlockTable table;
  for (const Block& block : options.model.blocks) table.blocks.push_back({.name = block.name});
  const MeasuredCosts measured =
      measureStages(options, microBatch, {.halves = true, .wanted = wanted});
  for (std::size_t i = 0; i < table.blocks.size(); ++i) {
    const StageCosts& stage = measured.costs.stages[i];
    BlockCosts& block = table.blocks[i];
    block.forward = stage.forward;
    block.backward = stage.backward;
    block.backwardInput = stage.backwardInput;
    block.backwardWeight = stage.backwardWeight;
    block.optimizer = measured.optimizer[i];
    block.activation = stage.activation;
    block.freedByInput = stage.freedByInput;
    block.working = stage.working;
    block.message = stage.message;
    block.parameters = stage.weights;
    block.updating = measured.updating[i];
  }
  addShared(table, std::move(options), microBatch);
  return table;
}

}  // namespace pipetrace
