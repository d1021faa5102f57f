#include "samples/bert/bert_blocks.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <torch/nn/init.h>

namespace pipetrace {

namespace {

torch::nn::LayerNorm bertNorm(const BertConfig& config) {
  return torch::nn::LayerNorm(torch::nn::LayerNormOptions({config.width}).eps(config.normEpsilon));
}

Linear bertLinear(std::int64_t inputs, std::int64_t outputs, const BertConfig& config) {
  Linear linear(inputs, outputs);
  torch::nn::init::normal_(linear->weight, 0, config.spread);
  torch::nn::init::zeros_(linear->bias);
  return linear;
}

torch::nn::Embedding bertEmbedding(std::int64_t count, const BertConfig& config) {
  torch::nn::Embedding embedding(count, config.width);
  torch::nn::init::normal_(embedding->weight, 0, config.spread);
  return embedding;
}

at::Tensor activation(const at::Tensor& x, bool isGelu) {
  return isGelu ? at::gelu(x) : at::relu(x);
}

}  // namespace

BertAttentionImpl::BertAttentionImpl(const BertConfig& config)
    : heads_(config.heads),
      attentionDropout_(config.attentionDropout),
      hiddenDropout_(config.hiddenDropout),
      queryKeyValue_(
          register_module("query_key_value", bertLinear(config.width, 3 * config.width, config))),
      out_(register_module("out", bertLinear(config.width, config.width, config))) {}

at::Tensor BertAttentionImpl::forward(const at::Tensor& x, const at::Tensor& mask) {
  const std::int64_t rows = x.size(0);
  const std::int64_t length = x.size(1);
  const std::int64_t width = x.size(2);
  // [rows, length, 3 * width] -> three of [rows, heads, length, width / heads]
  const auto parts = queryKeyValue_(x)
                         .reshape({rows, length, 3, heads_, width / heads_})
                         .permute({2, 0, 3, 1, 4})
                         .unbind(0);
  const at::Tensor mixed = at::scaled_dot_product_attention(
      parts[0], parts[1], parts[2], mask.unsqueeze(1).unsqueeze(1),
      is_training() ? attentionDropout_ : 0.0, /*is_causal=*/false);
  return at::dropout(out_(mixed.transpose(1, 2).reshape({rows, length, width})), hiddenDropout_,
                     is_training());
}

BertFirstBlock::BertFirstBlock(const BertConfig& config)
    : dropout_(config.hiddenDropout),
      words_(register_module("words", bertEmbedding(config.vocabulary, config))),
      positions_(register_module("positions", bertEmbedding(config.positions, config))),
      segments_(register_module("segments", bertEmbedding(config.segments, config))),
      norm_(register_module("norm", bertNorm(config))),
      attention_(register_module("attention", BertAttention(config))) {}

Tensors BertFirstBlock::run(const Tensors& inputs) {
  const at::Tensor& ids = inputs[0];
  const at::Tensor sum =
      words_(ids) + positions_(at::arange(ids.size(1), ids.options())) + segments_(inputs[1]);
  const at::Tensor x = at::dropout(norm_(sum), dropout_, is_training());
  return {x + attention_(x, inputs[2])};
}

BertAttentionBlock::BertAttentionBlock(const BertConfig& config)
    : norm_(register_module("norm", bertNorm(config))),
      attention_(register_module("attention", BertAttention(config))) {}

Tensors BertAttentionBlock::run(const Tensors& inputs) {
  const at::Tensor x = norm_(inputs[0]);
  return {x + attention_(x, inputs[1])};
}

BertFeedForwardBlock::BertFeedForwardBlock(const BertConfig& config)
    : dropout_(config.hiddenDropout),
      isGelu_(config.activation == "gelu"),
      norm_(register_module("norm", bertNorm(config))),
      in_(register_module("in", bertLinear(config.width, config.inner, config))),
      out_(register_module("out", bertLinear(config.inner, config.width, config))) {}

Tensors BertFeedForwardBlock::run(const Tensors& inputs) {
  const at::Tensor x = norm_(inputs[0]);
  return {x + at::dropout(out_(activation(in_(x), isGelu_)), dropout_, is_training())};
}

BertHeadBlock::BertHeadBlock(const BertConfig& config)
    : isGelu_(config.activation == "gelu"),
      norm_(register_module("norm", bertNorm(config))),
      transform_(register_module("transform", bertLinear(config.width, config.width, config))),
      transformNorm_(register_module("transform_norm", bertNorm(config))),
      decoder_(register_module("decoder", bertLinear(config.width, config.vocabulary, config))) {}

Tensors BertHeadBlock::run(const Tensors& inputs) {
  return {decoder_(transformNorm_(activation(transform_(norm_(inputs[0])), isGelu_)))};
}

}  // namespace pipetrace
