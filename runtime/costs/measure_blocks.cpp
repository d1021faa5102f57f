#include "runtime/costs/measure_blocks.h"

#include <utility>

#include "runtime/costs/measure_costs.h"

namespace pipetrace {
BlockTable measureBlocks(TorchWorkOptions options, const Batch& microBatch, Nanoseconds atLeast) {
  constexpr int kRounds = 5;
  options.partition = {.blocks = std::vector<int>(options.model.blocks.size(), 1)};
  BlockTable table;
  for (const Block& block : options.model.blocks) table.blocks.push_back({.name = block.name});
  const MeasuredCosts measured = measureStages(
      std::move(options), microBatch, {.halves = true, .rounds = kRounds, .atLeast = atLeast});
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
  return table;
}

}  // namespace pipetrace
