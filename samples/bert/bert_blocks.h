#pragma once

#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/normalization.h>

#include "runtime/train/model/linear.h"
#include "runtime/train/model/model.h"
#include "samples/bert/bert_config.h"

namespace pipetrace {

/// The attention of every piece to all pieces of its row but [PAD]. It takes vectors [rows, length,
/// width] and the mask [rows, length], and returns vectors with dropout. They are not yet added to
/// its input.
class BertAttentionImpl : public torch::nn::Module {
 public:
  explicit BertAttentionImpl(const BertConfig& config);
  at::Tensor forward(const at::Tensor& x, const at::Tensor& mask);

 private:
  std::int64_t heads_;
  double attentionDropout_;
  double hiddenDropout_;
  Linear queryKeyValue_;
  Linear out_;
};
TORCH_MODULE(BertAttention);

/// The first block: pieces, their segments and their positions become vectors, which are added,
/// normalized and attended to. Inputs: ids, segments, mask.
class BertFirstBlock : public BlockModule {
 public:
  explicit BertFirstBlock(const BertConfig& config);
  Tensors run(const Tensors& inputs) override;

 private:
  double dropout_;
  torch::nn::Embedding words_;
  torch::nn::Embedding positions_;
  torch::nn::Embedding segments_;
  torch::nn::LayerNorm norm_;
  BertAttention attention_;
};

/// The norm of the layer before, and the attention of this one. Inputs: x, mask.
class BertAttentionBlock : public BlockModule {
 public:
  explicit BertAttentionBlock(const BertConfig& config);
  Tensors run(const Tensors& inputs) override;

 private:
  torch::nn::LayerNorm norm_;
  BertAttention attention_;
};

/// The norm behind the attention, and the feed-forward part. Input: x.
class BertFeedForwardBlock : public BlockModule {
 public:
  explicit BertFeedForwardBlock(const BertConfig& config);
  Tensors run(const Tensors& inputs) override;

 private:
  double dropout_;
  bool isGelu_;
  torch::nn::LayerNorm norm_;
  Linear in_;
  Linear out_;
};

/// The norm of the last layer, and the head of the masked language model: scores [rows, length,
/// vocabulary]. Input: x.
class BertHeadBlock : public BlockModule {
 public:
  explicit BertHeadBlock(const BertConfig& config);
  Tensors run(const Tensors& inputs) override;

 private:
  bool isGelu_;
  torch::nn::LayerNorm norm_;
  Linear transform_;
  torch::nn::LayerNorm transformNorm_;
  Linear decoder_;
};

}  // namespace pipetrace
