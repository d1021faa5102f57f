// Layouts are those that Megatron-LM's parser reads with these letters, each written by hand.
#include "analysis/what_if/framework_options.h"

#include <gmock/gmock.h>

namespace pipetrace {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::vector<std::string> modelOf(const char* first, int layers, const char* last) {
  std::vector<std::string> names = {first};
  for (int layer = 0; layer < layers; ++layer) names.push_back("layer_" + std::to_string(layer));
  names.emplace_back(last);
  return names;
}

TEST(MegatronLayout, EmbeddingAndHeadOfTheTableAreNoLayers) {
  EXPECT_EQ(megatronLayout({4, 4, 5}, modelOf("embedding", 11, "head")).text,
            "--pipeline-model-parallel-layout \"Et*3|t*4|t*4L\"");
  EXPECT_EQ(megatronLayout({1, 2, 2, 1}, modelOf("Token Embeddings", 4, "LM_Head")).text,
            "--pipeline-model-parallel-layout \"E|t*2|t*2|L\"");
  EXPECT_EQ(megatronLayout({2, 1, 2}, modelOf("embed", 3, "loss")).text,
            "--pipeline-model-parallel-layout \"Et|t|tL\"");
}

TEST(MegatronLayout, LayersAtTheEndsStandBesideTheEmbeddingAndTheLoss) {
  EXPECT_EQ(megatronLayout({2, 3}, modelOf("layer", 3, "layer")).text,
            "--pipeline-model-parallel-layout \"Et*2|t*3L\"");
  EXPECT_EQ(megatronLayout({2, 3}, modelOf("embedding", 3, "layer")).text,
            "--pipeline-model-parallel-layout \"Et|t*3L\"");
}

TEST(MegatronLayout, SeveralBlocksOfTheEmbeddingOrOfTheHeadAreOneLetter) {
  const std::vector<std::string> names = {
      "word_embedding", "position_embedding", "layer", "layer", "mtp", "final_norm", "lm_head"};
  EXPECT_EQ(megatronLayout({3, 4}, names).text, "--pipeline-model-parallel-layout \"Et|tmL\"");
  EXPECT_THAT(megatronLayout({1, 6}, names).problem, HasSubstr("on the first stage"));
  EXPECT_THAT(megatronLayout({6, 1}, names).problem, HasSubstr("on the last one"));
}

TEST(MegatronLayout, BlocksThatMayBePartsOfLayersAreNamed) {
  const std::vector<std::string> names = {"embeddings", "feed_forward_0", "attention_1",
                                          "feed_forward_1", "head"};
  EXPECT_EQ(megatronLayout({3, 2}, names).text,
            "--pipeline-model-parallel-layout \"Et*2|tL\", if each block between is a whole layer "
            "(attention, feed_forward)");
}

TEST(MegatronLayout, BothLayoutsAreThereWhereNothingSaysWhatTheBlocksAtTheEndsAre) {
  for (const std::vector<std::string>& names :
       {std::vector<std::string>{}, std::vector<std::string>(9), modelOf("", 7, "head")}) {
    const MegatronLayout layout = megatronLayout({3, 4, 2}, names);
    EXPECT_THAT(layout.problem, IsEmpty());
    EXPECT_THAT(layout.text,
                testing::StartsWith(
                    "--pipeline-model-parallel-layout \"Et*3|t*4|t*2L\" where all blocks are "
                    "layers, \"Et*2|t*4|tL\" where the first is the embedding and the last the "
                    "loss"));
  }
  EXPECT_THAT(megatronLayout({1, 1}, {}).text, Not(HasSubstr("the first is the embedding")));
}

}  // namespace
}  // namespace pipetrace
