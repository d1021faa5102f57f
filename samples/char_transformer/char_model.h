#pragma once

#include <torch/nn/module.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/normalization.h>
#include <torch/nn/pimpl.h>

#include <vector>

#include "runtime/train/model/linear.h"
#include "runtime/train/model/model.h"
#include "samples/char_transformer/char_task.h"

namespace pipetrace {

/// Characters [rows, length] to vectors [rows, length, width]: the character's plus its position's.
class CharEmbeddingImpl : public torch::nn::Module {
 public:
  explicit CharEmbeddingImpl(const CharModelOptions& options);
  at::Tensor forward(const at::Tensor& characters);

 private:
  torch::nn::Embedding character_;
  torch::nn::Embedding position_;
};
TORCH_MODULE(CharEmbedding);

/// Attention of every character to itself and those before it, then a two-layer MLP, each on the
/// normalized input and added to it. Keeps the shape.
class DecoderLayerImpl : public torch::nn::Module {
 public:
  explicit DecoderLayerImpl(const CharModelOptions& options);
  at::Tensor forward(const at::Tensor& x);

 private:
  at::Tensor attend(const at::Tensor& x);

  std::int64_t heads_;
  torch::nn::LayerNorm attentionNorm_;
  Linear queryKeyValue_;
  Linear attentionOut_;
  torch::nn::LayerNorm mlpNorm_;
  Linear mlpIn_;
  Linear mlpOut_;
};
TORCH_MODULE(DecoderLayer);

/// Vectors to a score for each character of the vocabulary being the next.
class CharHeadImpl : public torch::nn::Module {
 public:
  explicit CharHeadImpl(const CharModelOptions& options);
  at::Tensor forward(const at::Tensor& x);

 private:
  torch::nn::LayerNorm norm_;
  Linear out_;
};
TORCH_MODULE(CharHead);

/// The decoder layers, a block each; the embedding is in the block of the first, the head in that
/// of the last. The loss is the cross-entropy of the next character. Throws Error for sizes below 1
/// and a width that the heads do not divide.
Model makeCharModel(const CharModelOptions& options);

/// Counts the operations of a window's forward and backward as Chowdhery et al. do ("PaLM", 2022,
/// appendix B). A token takes 6 for each weight of a matrix. Its attention takes 12 * layers *
/// width
/// * context.
double flopsOfRow(const CharModelOptions& options);

}  // namespace pipetrace
