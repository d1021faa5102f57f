#include "samples/bert/bert_model.h"

#include <torch/nn/functional/loss.h>

#include <memory>
#include <string>

#include "samples/bert/bert_blocks.h"
#include "samples/bert/masked_text.h"

namespace pipetrace {

namespace {

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
