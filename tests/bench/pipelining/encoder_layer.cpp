#include "tests/bench/pipelining/encoder_layer.h"

#include <ATen/ops/dropout.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <torch/nn/init.h>

namespace pipetrace::bench {

namespace {

constexpr std::int64_t kWiderInside = 4;

torch::nn::LayerNorm norm(std::int64_t width) {
  return torch::nn::LayerNorm(torch::nn::LayerNormOptions({width}));
}

// Rate 0 returns its input, as in the Python layer, which calls it all the same.
at::Tensor noDropout(const at::Tensor& x) { return at::dropout(x, 0.0, /*train=*/true); }

}  // namespace

EncoderLayerImpl::EncoderLayerImpl(std::int64_t width, std::int64_t heads) : heads_(heads) {
  // The order of draws is Python's: attention's output first, then its packed input weights.
  queryKeyValueWeight_ =
      register_parameter("query_key_value_weight", at::empty({3 * width, width}));
  queryKeyValueBias_ = register_parameter("query_key_value_bias", at::empty({3 * width}));
  attentionOut_ = register_module("attention_out", Linear(width, width));
  torch::nn::init::xavier_uniform_(queryKeyValueWeight_);
  torch::nn::init::zeros_(queryKeyValueBias_);
  torch::nn::init::zeros_(attentionOut_->bias);
  in_ = register_module("in", Linear(width, kWiderInside * width));
  out_ = register_module("out", Linear(kWiderInside * width, width));
  attentionNorm_ = register_module("attention_norm", norm(width));
  feedForwardNorm_ = register_module("feed_forward_norm", norm(width));
}

// torch.nn.functional.multi_head_attention_forward without masks and weights, operator by operator.
at::Tensor EncoderLayerImpl::attend(const at::Tensor& x) {
  const at::Tensor tokensFirst = x.transpose(1, 0);
  const std::int64_t tokens = tokensFirst.size(0);
  const std::int64_t rows = tokensFirst.size(1);
  const std::int64_t width = tokensFirst.size(2);
  const at::Tensor packed =
      linearWithWeightHalf(tokensFirst, queryKeyValueWeight_, queryKeyValueBias_)
          .unflatten(-1, {3, width})
          .unsqueeze(0)
          .transpose(0, -2)
          .squeeze(-2)
          .contiguous();
  const at::Tensor parts[] = {packed.select(0, 0), packed.select(0, 1), packed.select(0, 2)};
  at::Tensor byHead[3];
  for (int i = 0; i < 3; ++i) {
    byHead[i] = parts[i].view({tokens, rows * heads_, width / heads_}).transpose(0, 1);
  }
  for (at::Tensor& part : byHead) part = part.view({rows, heads_, tokens, width / heads_});
  const at::Tensor mixed = at::scaled_dot_product_attention(byHead[0], byHead[1], byHead[2]);
  const at::Tensor flat = mixed.permute({2, 0, 1, 3}).contiguous().view({rows * tokens, width});
  return attentionOut_(flat).view({tokens, rows, width}).transpose(1, 0);
}

at::Tensor EncoderLayerImpl::feedForward(const at::Tensor& x) {
  return noDropout(out_(noDropout(at::relu(in_(x)))));
}

at::Tensor EncoderLayerImpl::forward(const at::Tensor& x) {
  const at::Tensor attended = attentionNorm_(x + noDropout(attend(x)));
  return feedForwardNorm_(attended + feedForward(attended));
}

}  // namespace pipetrace::bench
