#include "samples/bert/bert_model.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <torch/nn/functional/loss.h>
#include <torch/nn/init.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/normalization.h>
#include <memory>
#include <string>

#include "runtime/train/model/linear.h"
#include "runtime/train/model/model.h"
#include "samples/bert/bert_config.h"
#include "samples/bert/masked_text.h"

namespace pipetrace {

namespace {

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

/// The mean over the rows of each row's mean over what is to be predicted.
at::Tensor maskedLoss(const at::Tensor& scores, const at::Tensor& targets) {
  namespace functional = torch::nn::functional;
  const at::Tensor ofPieces = functional::cross_entropy(scores.flatten(0, 1), targets.flatten(),
                                                        functional::CrossEntropyFuncOptions()
                                                            .ignore_index(MaskedText::kNotPredicted)
                                                            .reduction(torch::kNone))
                                  .view(targets.sizes());
  return (ofPieces.sum(1) / targets.ne(MaskedText::kNotPredicted).sum(1)).mean();
}

template <typename BlockOf>
Block bertBlock(const BertConfig& config, const std::string& name, std::vector<std::string> inputs,
                const std::string& output) {
  return {.name = name, .inputs = std::move(inputs), .outputs = {output}, .make = [config] {
            return std::make_shared<BlockOf>(config);
          }};
}

}  // namespace

Model makeBertModel(const BertConfig& config, bool isTied) {
  requireFits(config);
  Model model{.batch = {"ids", "segments", "mask", "targets"}};
  std::string x;
  for (int layer = 0; layer < config.layers; ++layer) {
    const std::string number = std::to_string(layer);
    const std::string attended = "attended_" + number;
    model.blocks.push_back(
        layer == 0
            ? bertBlock<BertFirstBlock>(config, "embeddings", {"ids", "segments", "mask"}, attended)
            : bertBlock<BertAttentionBlock>(config, "attention_" + number, {x, "mask"}, attended));
    x = "layer_" + number;
    model.blocks.push_back(
        bertBlock<BertFeedForwardBlock>(config, "feed_forward_" + number, {attended}, x));
  }
  model.blocks.push_back(bertBlock<BertHeadBlock>(config, "head", {x}, "scores"));
  model.lossInputs = {"scores", "targets"};
  model.loss = [](const Tensors& inputs) { return maskedLoss(inputs[0], inputs[1]); };
  if (isTied) model.ties = {{{"embeddings", "words.weight"}, {"head", "decoder.weight"}}};
  return model;
}

double flopsOfBertRow(const BertConfig& config, std::int64_t length) {
  const auto width = static_cast<double>(config.width);
  const auto layers = static_cast<double>(config.layers);
  const auto pieces = static_cast<double>(length);
  constexpr double kSquares = 4;  // of an attention: query, key, value and output
  const double weights =
      layers * (kSquares * width * width + 2 * width * static_cast<double>(config.inner)) +
      width * width + width * static_cast<double>(config.vocabulary);
  constexpr double kOfWeight = 6;
  constexpr double kOfAttention = 12;
  return pieces * (kOfWeight * weights + kOfAttention * layers * width * pieces);
}

}  // namespace pipetrace
