// The training program of docs/runtime.md: four layers on two stages.
#include <ATen/ops/randn.h>
#include <torch/nn/functional/loss.h>
#include <torch/optim/adamw.h>

#include <cstdio>

#include "runtime/engine/engine.h"
#include "runtime/engine/engine_main.h"
#include "runtime/train/model/linear.h"

using namespace pipetrace;

namespace {

Model fourLayers() {
  std::vector<LayerMaker> layers(
      4, [] { return std::vector<torch::nn::AnyModule>{torch::nn::AnyModule(Linear(8, 8))}; });
  return chainModel(layers, [](const at::Tensor& output, const at::Tensor& targets) {
    return torch::nn::functional::mse_loss(output, targets);
  });
}

void train(StopSignal& stop) {
  Engine engine(fourLayers(),
                [](const NamedParameters& parameters) {
                  return std::make_unique<torch::optim::AdamW>(tensorsOf(parameters),
                                                               torch::optim::AdamWOptions(0.01));
                },
                /*metrics=*/{}, {.plan = {.schedule = "1F1B", .ranks = 2, .microBatches = 4}},
                {.logDirectory = "logs", .stop = &stop});
  torch::manual_seed(1);  // all ranks have the same data
  const at::Tensor inputs = at::randn({256, 8});
  const DataSet data = dataSetOf({{"inputs", inputs}, {"targets", inputs.flip(1)}}, 32);
  engine.fit(data, {.epochs = 5});
  std::printf("loss after the training: %.4f\n", engine.evaluate(data).loss);
  engine.finish();
}

}  // namespace

int main() { return engineMain(train); }
