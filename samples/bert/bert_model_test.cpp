#include "samples/bert/bert_model.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/erf.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/randn_like.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/sqrt.h>
#include <gmock/gmock.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "runtime/testing/error_of.h"
#include "runtime/train/model/model_cut.h"
#include "runtime/train/stage.h"
#include "samples/bert/masked_text.h"

namespace pipetrace {
namespace {

using testing::errorOf;
using ::testing::HasSubstr;

BertConfig tinyConfig() {
  return {.vocabulary = 30, .width = 8, .layers = 2, .heads = 2, .inner = 12, .positions = 10};
}

using BertBlocks = std::vector<std::shared_ptr<BlockModule>>;

BertBlocks blocksOfBert(const Model& model, bool isTraining) {
  BertBlocks blocks;
  for (std::size_t i = 0; i < model.blocks.size(); ++i) {
    blocks.push_back(makeBlock(model, static_cast<int>(i), 1));
    blocks.back()->train(isTraining);
    const torch::NoGradGuard noGrad;
    // Weights are so small at first that a mistake would hardly show, and biases are 0.
    for (at::Tensor& parameter : blocks.back()->parameters()) {
      parameter.mul_(10).add_(at::randn_like(parameter), 0.1);
    }
  }
  return blocks;
}

/// The tensors that the loss needs, by the names of the blocks' inputs and outputs.
std::map<std::string, at::Tensor> runAll(const Model& model, const BertBlocks& blocks,
                                         std::map<std::string, at::Tensor> tensors) {
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    Tensors inputs;
    for (const std::string& name : model.blocks[i].inputs) inputs.push_back(tensors.at(name));
    tensors[model.blocks[i].outputs[0].name] = blocks[i]->run(inputs)[0];
  }
  return tensors;
}

std::map<std::string, at::Tensor> rowsWithPadding() {
  torch::manual_seed(4);
  const at::Tensor mask = torch::ones({3, 7}, at::kBool);
  mask[1].slice(0, 4, 7).fill_(false);
  const at::Tensor targets = torch::full({3, 7}, MaskedText::kNotPredicted, at::kLong);
  targets[0][1] = 5;
  targets[0][5] = 6;
  targets[1][2] = 7;
  targets[2][6] = 8;
  return {{"ids", at::randint(0, 30, {3, 7}, at::kLong)},
          {"segments", at::randint(0, 2, {3, 7}, at::kLong)},
          {"mask", mask},
          {"targets", targets}};
}

/// BERT written out, layer by layer, from the sums and products of its paper and its code.
class WrittenOut {
 public:
  WrittenOut(const BertBlocks& blocks, const BertConfig& config) : config_(config) {
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      for (const auto& one : blocks[i]->named_parameters()) {
        weights_[std::to_string(i) + "." + one.key()] = one.value();
      }
    }
  }

  at::Tensor scores(const std::map<std::string, at::Tensor>& row) const {
    at::Tensor x = at::embedding(weights_.at("0.words.weight"), row.at("ids")) +
                   weights_.at("0.positions.weight").slice(0, 0, row.at("ids").size(1)) +
                   at::embedding(weights_.at("0.segments.weight"), row.at("segments"));
    x = norm(x, "0.norm");
    for (int layer = 0; layer < config_.layers; ++layer) {
      const std::string attention = std::to_string(2 * layer);
      const std::string feedForward = std::to_string(2 * layer + 1);
      x = norm(x + attend(x, row.at("mask"), attention + ".attention"), feedForward + ".norm");
      const at::Tensor inner = gelu(linear(x, feedForward + ".in"));
      // The norm of a layer's end is in the block after it.
      x = norm(x + linear(inner, feedForward + ".out"), std::to_string(2 * layer + 2) + ".norm");
    }
    const std::string head = std::to_string(2 * config_.layers);
    return linear(norm(gelu(linear(x, head + ".transform")), head + ".transform_norm"),
                  head + ".decoder");
  }

 private:
  at::Tensor linear(const at::Tensor& x, const std::string& name) const {
    return x.matmul(weights_.at(name + ".weight").t()) + weights_.at(name + ".bias");
  }
  at::Tensor norm(const at::Tensor& x, const std::string& name) const {
    const at::Tensor centred = x - x.mean(-1, true);
    return centred / (centred.pow(2).mean(-1, true) + 1e-12).sqrt() *
               weights_.at(name + ".weight") +
           weights_.at(name + ".bias");
  }
  static at::Tensor gelu(const at::Tensor& x) { return x * (1 + (x / std::sqrt(2.0)).erf()) / 2; }

  at::Tensor attend(const at::Tensor& x, const at::Tensor& mask, const std::string& name) const {
    const auto three = linear(x, name + ".query_key_value").chunk(3, -1);
    const at::Tensor away = mask.logical_not().to(at::kFloat).unsqueeze(1) * -1e9;
    std::vector<at::Tensor> heads;
    const std::int64_t width = config_.width / config_.heads;
    for (std::int64_t head = 0; head < config_.heads; ++head) {
      const auto part = [&](std::size_t which) {
        return three[which].slice(-1, head * width, (head + 1) * width);
      };
      const at::Tensor alike =
          part(0).matmul(part(1).transpose(1, 2)) / std::sqrt(static_cast<double>(width));
      heads.push_back((alike + away).softmax(-1).matmul(part(2)));
    }
    return linear(at::cat(heads, -1), name + ".out");
  }

  const BertConfig config_;
  std::map<std::string, at::Tensor> weights_;
};

TEST(BertModel, ItsScoresAreThoseOfBertWrittenOut) {
  const Model model = makeBertModel(tinyConfig(), true);
  const BertBlocks blocks = blocksOfBert(model, /*isTraining=*/false);
  const auto rows = rowsWithPadding();
  const at::Tensor expected = WrittenOut(blocks, tinyConfig()).scores(rows);
  const at::Tensor scores = runAll(model, blocks, rows).at("scores");
  ASSERT_EQ(scores.sizes(), (std::vector<std::int64_t>{3, 7, 30}));
  EXPECT_GT(expected.std().item<double>(), 0.3);
  // Positions that the mask leaves out attend, too, but nobody looks at them.
  EXPECT_TRUE(scores.allclose(expected, 1e-4, 1e-4)) << (scores - expected).abs().max();
}

TEST(BertModel, PiecesThatTheMaskLeavesOutChangeNothing) {
  const Model model = makeBertModel(tinyConfig(), true);
  const BertBlocks blocks = blocksOfBert(model, /*isTraining=*/false);
  auto rows = rowsWithPadding();
  const at::Tensor before = runAll(model, blocks, rows).at("scores");
  rows["ids"] = rows["ids"].clone();
  rows["ids"][1].slice(0, 4, 7).fill_(3);
  const at::Tensor after = runAll(model, blocks, rows).at("scores");
  EXPECT_TRUE(after[1].slice(0, 0, 4).equal(before[1].slice(0, 0, 4)));
  rows["ids"][1][3] = (rows["ids"][1][3] + 1) % 30;
  EXPECT_FALSE(runAll(model, blocks, rows).at("scores")[1][0].equal(before[1][0]));
}

TEST(BertModel, TheLossIsTheMeanOfTheRowsMeansOverWhatIsPredicted) {
  const Model model = makeBertModel(tinyConfig(), true);
  const auto rows = rowsWithPadding();
  const at::Tensor scores = at::randn({3, 7, 30});
  const at::Tensor logs = scores.log_softmax(-1);
  const auto minusLog = [&](int row, int at, int piece) {
    return -logs[row][at][piece].item<double>();
  };
  const double expected =
      ((minusLog(0, 1, 5) + minusLog(0, 5, 6)) / 2 + minusLog(1, 2, 7) + minusLog(2, 6, 8)) / 3;
  EXPECT_NEAR(model.loss({scores, rows.at("targets")}).item<double>(), expected, 1e-5);
}

TEST(BertModel, DropoutWorksInTrainingAlone) {
  const Model model = makeBertModel(tinyConfig(), true);
  BertBlocks blocks = blocksOfBert(model, /*isTraining=*/true);
  const auto rows = rowsWithPadding();
  const auto scores = [&] { return runAll(model, blocks, rows).at("scores"); };
  EXPECT_FALSE(scores().equal(scores()));
  for (const auto& block : blocks) block->eval();
  EXPECT_TRUE(scores().equal(scores()));
}

// VPipe's partition of BERT-Large is [12, 13, 13, 11].
TEST(BertModel, TwentyFourLayersAre49BlocksAndEachStageNeedsTheMask) {
  BertConfig config = tinyConfig();
  config.layers = 24;
  const Model model = makeBertModel(config, false);
  EXPECT_EQ(model.blocks.size(), 49U);
  EXPECT_EQ(model.blocks.front().inputs, (std::vector<std::string>{"ids", "segments", "mask"}));
  const ModelCut cut = cutModel(model, {.blocks = {12, 13, 13, 11}}, 4);
  for (int stage = 0; stage < 4; ++stage) {
    const StageCut& one = cut.stages[static_cast<std::size_t>(stage)];
    const bool hasMask = std::any_of(one.batch.begin(), one.batch.end(),
                                     [](const auto& tensor) { return tensor.second == 2; });
    EXPECT_TRUE(hasMask) << stage;
    EXPECT_EQ(one.outgoing.size() - (stage == 3 ? 0 : 1), 0U) << "one tensor goes on";
  }
}

TEST(BertModel, EmbeddingAndHeadAreTiedUnlessTheyAreNotToBe) {
  EXPECT_TRUE(makeBertModel(tinyConfig(), false).ties.empty());
  const Model tied = makeBertModel(tinyConfig(), true);
  ASSERT_EQ(tied.ties.size(), 1U);
  const BertBlocks blocks = blocksOfBert(tied, true);
  EXPECT_EQ(blocks.front()->named_parameters()["words.weight"].sizes(),
            blocks.back()->named_parameters()["decoder.weight"].sizes());
  BertConfig odd = tinyConfig();
  odd.width = 9;
  EXPECT_THAT(errorOf([&] { makeBertModel(odd, true); }), HasSubstr("no multiple"));
}

// By hand. A layer has 4 * 64 + 2 * 8 * 12 = 448 weights in matrices, and the model has two. The
// head has 64 + 8 * 30 = 304. The attention of a piece takes 12 * 2 * 8 * 5 = 960 in rows of 5.
TEST(BertModel, TheOperationsOfARowAreThoseOfItsWeightsAndItsAttention) {
  EXPECT_EQ(flopsOfBertRow(tinyConfig(), 5), 5 * (6 * 1200 + 960));
}

}  // namespace
}  // namespace pipetrace
