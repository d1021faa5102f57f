#include "samples/char_transformer/char_model.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <torch/nn/functional/loss.h>
#include <torch/nn/init.h>

#include "trace/error.h"

namespace pipetrace {

namespace {

torch::nn::LayerNorm norm(std::int64_t width) {
  return torch::nn::LayerNorm(torch::nn::LayerNormOptions({width}));
}

constexpr double kEmbeddingSpread = 0.1;

}  // namespace

CharEmbeddingImpl::CharEmbeddingImpl(const CharModelOptions& options)
    : character_(
          register_module("character", torch::nn::Embedding(options.vocabulary, options.width))),
      position_(register_module("position", torch::nn::Embedding(options.context, options.width))) {
  torch::nn::init::normal_(character_->weight, 0, kEmbeddingSpread);
  torch::nn::init::normal_(position_->weight, 0, kEmbeddingSpread);
}

at::Tensor CharEmbeddingImpl::forward(const at::Tensor& characters) {
  return character_(characters) + position_(at::arange(characters.size(1), characters.options()));
}

DecoderLayerImpl::DecoderLayerImpl(const CharModelOptions& options)
    : heads_(options.heads),
      attentionNorm_(register_module("attention_norm", norm(options.width))),
      queryKeyValue_(register_module("query_key_value", Linear(options.width, 3 * options.width))),
      attentionOut_(register_module("attention_out", Linear(options.width, options.width))),
      mlpNorm_(register_module("mlp_norm", norm(options.width))),
      mlpIn_(register_module("mlp_in", Linear(options.width, 4 * options.width))),
      mlpOut_(register_module("mlp_out", Linear(4 * options.width, options.width))) {}

at::Tensor DecoderLayerImpl::attend(const at::Tensor& x) {
  const std::int64_t rows = x.size(0);
  const std::int64_t length = x.size(1);
  const std::int64_t width = x.size(2);
  // [rows, length, 3 * width] -> three of [rows, heads, length, width / heads]
  const auto parts = queryKeyValue_(x)
                         .reshape({rows, length, 3, heads_, width / heads_})
                         .permute({2, 0, 3, 1, 4})
                         .unbind(0);
  const at::Tensor mixed =
      at::scaled_dot_product_attention(parts[0], parts[1], parts[2], /*attn_mask=*/{},
                                       /*dropout_p=*/0.0, /*is_causal=*/true);
  return attentionOut_(mixed.transpose(1, 2).reshape({rows, length, width}));
}

at::Tensor DecoderLayerImpl::forward(const at::Tensor& x) {
  const at::Tensor attended = x + attend(attentionNorm_(x));
  return attended + mlpOut_(at::gelu(mlpIn_(mlpNorm_(attended))));
}

CharHeadImpl::CharHeadImpl(const CharModelOptions& options)
    : norm_(register_module("norm", norm(options.width))),
      out_(register_module("out", Linear(options.width, options.vocabulary))) {}

at::Tensor CharHeadImpl::forward(const at::Tensor& x) { return out_(norm_(x)); }

Model makeCharModel(const CharModelOptions& options) {
  if (options.vocabulary < 1 || options.context < 1 || options.heads < 1 || options.layers < 1 ||
      options.width < 1 || options.width % options.heads != 0) {
    throw Error(
        "a transformer needs characters, layers, and a width that is a multiple of the "
        "heads, not width " +
        std::to_string(options.width) + " for " + std::to_string(options.heads) + " heads");
  }
  std::vector<LayerMaker> layers;
  for (int i = 0; i < options.layers; ++i) {
    layers.emplace_back([options, i] {
      std::vector<torch::nn::AnyModule> modules;
      if (i == 0) modules.emplace_back(CharEmbedding(options));
      modules.emplace_back(DecoderLayer(options));
      if (i + 1 == options.layers) modules.emplace_back(CharHead(options));
      return modules;
    });
  }
  return chainModel(layers, [](const at::Tensor& output, const at::Tensor& targets) {
    return torch::nn::functional::cross_entropy(output.flatten(0, 1), targets.flatten());
  });
}

double flopsOfRow(const CharModelOptions& options) {
  const auto layers = static_cast<double>(options.layers);
  const auto width = static_cast<double>(options.width);
  const auto context = static_cast<double>(options.context);
  constexpr double kMatricesOfLayer = 12;  // width x width: 3 of the attention's, 1, 4 and 4
  const double weights =
      layers * kMatricesOfLayer * width * width + width * static_cast<double>(options.vocabulary);
  constexpr double kOfWeight = 6;
  constexpr double kOfAttention = 12;
  return context * (kOfWeight * weights + kOfAttention * layers * width * context);
}

}  // namespace pipetrace
