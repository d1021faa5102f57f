#include "samples/bert/bert_config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "samples/files/read_file.h"
#include "trace/error.h"

namespace pipetrace {

namespace {

BertConfig bertBase() {
  return {.vocabulary = 30'522,
          .width = 768,
          .layers = 12,
          .heads = 12,
          .inner = 3072,
          .positions = 512};
}

void take(const nlohmann::json& value, std::int64_t& field) {
  if (!value.is_number_integer()) throw Error("is no whole number");
  field = value.get<std::int64_t>();
}

void take(const nlohmann::json& value, int& field) {
  std::int64_t number = 0;
  take(value, number);
  if (number > std::numeric_limits<int>::max()) throw Error("is too large");
  field = static_cast<int>(number);
}

void take(const nlohmann::json& value, double& field) {
  if (!value.is_number()) throw Error("is no number");
  field = value.get<double>();
}

void take(const nlohmann::json& value, std::string& field) {
  if (!value.is_string()) throw Error("is no text");
  field = value.get<std::string>();
}

/// Calls `visit` with each key and its field.
template <typename Visit>
void visitFields(BertConfig& config, const Visit& visit) {
  visit("vocab_size", config.vocabulary);
  visit("hidden_size", config.width);
  visit("num_hidden_layers", config.layers);
  visit("num_attention_heads", config.heads);
  visit("intermediate_size", config.inner);
  visit("hidden_dropout_prob", config.hiddenDropout);
  visit("attention_probs_dropout_prob", config.attentionDropout);
  visit("max_position_embeddings", config.positions);
  visit("type_vocab_size", config.segments);
  visit("initializer_range", config.spread);
  visit("layer_norm_eps", config.normEpsilon);
  visit("hidden_act", config.activation);
}

/// These are about poolers and classifiers, or Hugging Face's libraries; the direction has one
/// value.
bool isPassedOver(const std::string& key) {
  constexpr const char* kKeys[] = {"directionality",
                                   "architectures",
                                   "model_type",
                                   "torch_dtype",
                                   "use_cache",
                                   "classifier_dropout",
                                   "pad_token_id",
                                   "_name_or_path",
                                   "gradient_checkpointing",
                                   "transformers_version",
                                   "position_embedding_type"};
  return key.rfind("pooler_", 0) == 0 ||
         std::find(std::begin(kKeys), std::end(kKeys), key) != std::end(kKeys);
}

BertConfig configIn(const nlohmann::json& file) {
  if (!file.is_object()) throw Error("it is no JSON object");
  BertConfig config = bertBase();
  std::vector<std::string> known;
  visitFields(config, [&](const char* key, auto& field) {
    known.emplace_back(key);
    const auto found = file.find(key);
    if (found == file.end()) return;
    try {
      take(*found, field);
    } catch (const Error& error) {
      throw Error(fmt::format("\"{}\": {} {}", key, found->dump(), error.what()));
    }
  });
  for (const auto& [key, value] : file.items()) {
    if (isPassedOver(key) || std::find(known.begin(), known.end(), key) != known.end()) continue;
    throw Error(fmt::format("unknown key \"{}\"; there are {}", key, fmt::join(known, ", ")));
  }
  requireFits(config);
  return config;
}

}  // namespace

std::vector<std::string> bertConfigNames() { return {"bert-base", "small"}; }

BertConfig bertConfigOf(const std::string& nameOrFile) {
  if (nameOrFile == "bert-base") return bertBase();
  if (nameOrFile == "small") return {};
  try {
    return configIn(nlohmann::json::parse(readFile(nameOrFile)));
  } catch (const nlohmann::json::exception& error) {
    const std::string text = error.what();  // "[json.exception.parse_error.101] parse error at …"
    throw Error(nameOrFile + " is no JSON: " + text.substr(text.find("] ") + 2));
  } catch (const Error& error) {
    const std::string text = error.what();
    throw Error(text.rfind("cannot read ", 0) == 0
                    ? fmt::format("{}; configurations without a file are {}", text,
                                  fmt::join(bertConfigNames(), " and "))
                    : fmt::format("{}: {}", nameOrFile, text));
  }
}

void requireFits(const BertConfig& config) {
  const auto require = [](bool isGood, const std::string& text) {
    if (!isGood) throw Error(text);
  };
  for (const auto& [key, size] : {std::pair{"vocab_size", config.vocabulary},
                                  {"hidden_size", config.width},
                                  {"num_hidden_layers", std::int64_t{config.layers}},
                                  {"num_attention_heads", config.heads},
                                  {"intermediate_size", config.inner},
                                  {"max_position_embeddings", config.positions}}) {
    constexpr std::int64_t kMost = 1 << 24;
    require(size >= 1 && size <= kMost,
            fmt::format("\"{}\" is {}; it is 1 to {}", key, size, kMost));
  }
  require(config.segments >= 2,
          fmt::format("\"type_vocab_size\" is {}, but rows have two segments", config.segments));
  require(config.width % config.heads == 0,
          fmt::format("\"hidden_size\" {} is no multiple of \"num_attention_heads\" {}",
                      config.width, config.heads));
  for (const auto& [key, share] : {std::pair{"hidden_dropout_prob", config.hiddenDropout},
                                   {"attention_probs_dropout_prob", config.attentionDropout}}) {
    require(share >= 0 && share < 1, fmt::format("\"{}\" {} is no share of 0 to 1", key, share));
  }
  require(std::isfinite(config.spread) && config.spread >= 0,
          fmt::format("\"initializer_range\" {} is below 0", config.spread));
  require(config.normEpsilon > 0,
          fmt::format("\"layer_norm_eps\" {} is not above 0", config.normEpsilon));
  require(config.activation == "gelu" || config.activation == "relu",
          fmt::format("\"hidden_act\" is {}; there are gelu and relu", config.activation));
}

std::string toText(const BertConfig& config) {
  BertConfig copy = config;
  std::string text;
  visitFields(copy, [&](const char* key, const auto& field) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", key, field);
  });
  return text;
}

}  // namespace pipetrace
