#include "runtime/stage_module.h"

#include <string>

#include "trace/error.h"

namespace pipetrace {

std::vector<torch::nn::Sequential> cutIntoStages(const std::vector<Layer>& layers, int numStages) {
  const int count = static_cast<int>(layers.size());
  if (numStages < 1 || count < numStages) {
    throw Error("a model of " + std::to_string(count) + " layers cannot be cut into " +
                std::to_string(numStages) + " stages; use fewer stages or more layers");
  }
  std::vector<torch::nn::Sequential> stages;
  auto layer = layers.begin();
  for (int s = 0; s < numStages; ++s) {
    const int layersHere = count / numStages + (s < count % numStages ? 1 : 0);
    torch::nn::Sequential stage;
    for (int i = 0; i < layersHere; ++i, ++layer) {
      for (const torch::nn::AnyModule& block : *layer) stage->push_back(block);
    }
    stages.push_back(stage);
  }
  return stages;
}

}  // namespace pipetrace
