#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace pipetrace {

/// The sizes of a BERT model. Beside each is its key in bert_config.json of google-research/bert.
struct BertConfig {
  std::int64_t vocabulary = 4096;   ///< vocab_size
  std::int64_t width = 64;          ///< hidden_size; a multiple of heads
  int layers = 4;                   ///< num_hidden_layers
  std::int64_t heads = 4;           ///< num_attention_heads
  std::int64_t inner = 256;         ///< intermediate_size: of the feed-forward part
  double hiddenDropout = 0.1;       ///< hidden_dropout_prob
  double attentionDropout = 0.1;    ///< attention_probs_dropout_prob
  std::int64_t positions = 128;     ///< max_position_embeddings: the longest row
  std::int64_t segments = 2;        ///< type_vocab_size
  double spread = 0.02;             ///< initializer_range: deviation of the initial weights
  double normEpsilon = 1e-12;       ///< layer_norm_eps, which Hugging Face's files have
  std::string activation = "gelu";  ///< hidden_act: gelu or relu

  bool operator==(const BertConfig&) const = default;
};

/// "bert-base" (12 layers of width 768, 30522 pieces), "small" (BertConfig as it is), or else a
/// JSON file with these keys; those that are missing are as in bert-base. Keys of such files that
/// say nothing about masked language models are passed over. Throws Error with the file and the
/// key: for a file that cannot be read or is no JSON object, another key, and for what
/// requireFits() refuses.
BertConfig bertConfigOf(const std::string& nameOrFile);

/// The names of configurations that need no file.
std::vector<std::string> bertConfigNames();

/// Throws Error for sizes below 1, fewer than two segments, a width that the heads do not divide,
/// shares of dropout outside of [0, 1), and an unknown activation.
void requireFits(const BertConfig& config);

/// "4 layers of width 64, …": all of it.
std::string toText(const BertConfig& config);

}  // namespace pipetrace
