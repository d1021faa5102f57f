#pragma once

#include <torch/nn/module.h>
#include <torch/nn/modules/normalization.h>
#include <torch/nn/pimpl.h>

#include "runtime/train/model/linear.h"

namespace pipetrace::bench {

/// torch.nn.TransformerEncoderLayer as Python has it, batch first, ReLU, norms after the additions,
/// no dropout. It draws the same initial weights in the same order and runs the same ATen operators
/// when it trains. LibTorch's own layer of that name has another attention.
class EncoderLayerImpl : public torch::nn::Module {
 public:
  EncoderLayerImpl(std::int64_t width, std::int64_t heads);

  /// `x` is [rows, tokens, width]; so is the result.
  at::Tensor forward(const at::Tensor& x);

 private:
  at::Tensor attend(const at::Tensor& x);
  at::Tensor feedForward(const at::Tensor& x);

  const std::int64_t heads_;
  at::Tensor queryKeyValueWeight_;
  at::Tensor queryKeyValueBias_;
  Linear attentionOut_{nullptr};
  Linear in_{nullptr};
  Linear out_{nullptr};
  torch::nn::LayerNorm attentionNorm_{nullptr};
  torch::nn::LayerNorm feedForwardNorm_{nullptr};
};
TORCH_MODULE(EncoderLayer);

}  // namespace pipetrace::bench
