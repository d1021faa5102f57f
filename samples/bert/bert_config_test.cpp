#include "samples/bert/bert_config.h"

#include <gmock/gmock.h>

#include <fstream>
#include <string>

#include "runtime/testing/error_of.h"
#include "runtime/testing/rank_processes.h"

namespace pipetrace {
namespace {

using ::testing::AllOf;
using testing::errorOf;
using ::testing::HasSubstr;
using testing::ScratchFolder;

BertConfig configOf(const std::string& json) {
  const ScratchFolder folder;
  std::ofstream(folder.path("config.json")) << json;
  return bertConfigOf(folder.path("config.json"));
}

// bert_config.json of BERT-Large, uncased, as google-research/bert published it.
TEST(BertConfig, TheFileOfBertLargeIsRead) {
  const BertConfig large = configOf(R"({
    "attention_probs_dropout_prob": 0.1, "hidden_act": "gelu", "hidden_dropout_prob": 0.1,
    "hidden_size": 1024, "initializer_range": 0.02, "intermediate_size": 4096,
    "max_position_embeddings": 512, "num_attention_heads": 16, "num_hidden_layers": 24,
    "type_vocab_size": 2, "vocab_size": 30522})");
  EXPECT_EQ(large, (BertConfig{.vocabulary = 30522,
                               .width = 1024,
                               .layers = 24,
                               .heads = 16,
                               .inner = 4096,
                               .hiddenDropout = 0.1,
                               .attentionDropout = 0.1,
                               .positions = 512,
                               .segments = 2,
                               .spread = 0.02,
                               .normEpsilon = 1e-12,
                               .activation = "gelu"}));
}

TEST(BertConfig, KeysThatAFileLeavesOutAreAsInBertBase) {
  EXPECT_EQ(configOf("{}"), bertConfigOf("bert-base"));
  BertConfig narrow = bertConfigOf("bert-base");
  narrow.width = 24;
  narrow.hiddenDropout = 0;
  narrow.activation = "relu";
  EXPECT_EQ(configOf(R"({"hidden_size": 24, "hidden_dropout_prob": 0, "hidden_act": "relu",
                         "directionality": "bidi", "pooler_fc_size": 768})"),
            narrow);
}

TEST(BertConfig, MistakesAreNamedWithTheFileAndTheKey) {
  const auto errorIn = [](const std::string& json) { return errorOf([&] { configOf(json); }); };
  EXPECT_THAT(
      errorIn(R"({"hidden_sise": 8})"),
      AllOf(HasSubstr("config.json: unknown key \"hidden_sise\""), HasSubstr("hidden_size")));
  EXPECT_THAT(errorIn(R"({"hidden_size": 8.5})"), HasSubstr("\"hidden_size\": 8.5 is no whole"));
  EXPECT_THAT(errorIn(R"({"hidden_size": "8"})"), HasSubstr("\"hidden_size\": \"8\" is no whole"));
  EXPECT_THAT(errorIn(R"({"hidden_size": 70})"),
              HasSubstr("\"hidden_size\" 70 is no multiple of \"num_attention_heads\" 12"));
  EXPECT_THAT(errorIn(R"({"num_hidden_layers": 0})"), HasSubstr("\"num_hidden_layers\" is 0"));
  EXPECT_THAT(errorIn(R"({"num_hidden_layers": 5000000000})"), HasSubstr("is too large"));
  EXPECT_THAT(errorIn(R"({"type_vocab_size": 1})"), HasSubstr("two segments"));
  EXPECT_THAT(errorIn(R"({"hidden_dropout_prob": 1})"), HasSubstr("\"hidden_dropout_prob\" 1"));
  EXPECT_THAT(errorIn(R"({"attention_probs_dropout_prob": -1})"), HasSubstr("no share"));
  EXPECT_THAT(errorIn(R"({"hidden_act": "swish"})"), HasSubstr("there are gelu and relu"));
  EXPECT_THAT(errorIn(R"({"layer_norm_eps": 0})"), HasSubstr("\"layer_norm_eps\""));
  EXPECT_THAT(errorIn("[]"), HasSubstr("it is no JSON object"));
  EXPECT_THAT(errorIn("{"), HasSubstr("config.json is no JSON: parse error"));
  EXPECT_THAT(errorOf([] { bertConfigOf("bert-huge"); }),
              AllOf(HasSubstr("cannot read bert-huge"), HasSubstr("bert-base and small")));
}

}  // namespace
}  // namespace pipetrace
