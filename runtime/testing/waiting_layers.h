#pragma once

#include <ATen/core/Tensor.h>

#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "runtime/train/model/linear.h"
#include "runtime/train/model/model.h"

namespace pipetrace::testing {

/// Waits, forward and twice as long backward.
class Wait : public torch::nn::Module {
 public:
  explicit Wait(int ms) : ms_(ms) {}
  at::Tensor forward(const at::Tensor& input) {
    std::this_thread::sleep_for(std::chrono::milliseconds(ms_));
    at::Tensor output = input * 1.0;
    if (!output.requires_grad()) return output;
    output.register_hook([ms = ms_](const at::Tensor&) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2 * ms));
    });
    return output;
  }

 private:
  int ms_;
};

/// A linear layer of four numbers that takes that long, and backward twice as long.
inline LayerMaker waitingLayer(int ms) {
  return [ms] {
    return std::vector{torch::nn::AnyModule(Linear(4, 4)),
                       torch::nn::AnyModule(std::make_shared<Wait>(ms))};
  };
}

/// Layers that take so long, and the mean square error.
inline Model waitingModel(const std::vector<int>& ms) {
  std::vector<LayerMaker> layers;
  for (const int each : ms) layers.push_back(waitingLayer(each));
  return chainModel(
      layers, [](const at::Tensor& a, const at::Tensor& b) { return (a - b).square().mean(); });
}

}  // namespace pipetrace::testing
