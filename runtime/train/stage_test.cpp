#include "runtime/train/stage.h"

#include <ATen/ops/mse_loss.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/dropout.h>

#include "runtime/testing/error_of.h"

namespace pipetrace {
namespace {

using testing::errorOf;
using ::testing::HasSubstr;

/// The work of a test's block.
using Body = std::function<Tensors(const Tensors& inputs)>;

class BodyBlock : public BlockModule {
 public:
  explicit BodyBlock(Body body) : body_(std::move(body)) {}
  Tensors run(const Tensors& inputs) override { return body_(inputs); }

 private:
  const Body body_;
};

std::vector<torch::nn::AnyModule> normLayer() {
  return {torch::nn::AnyModule(Linear(4, 4)), torch::nn::AnyModule(torch::nn::BatchNorm1d(4)),
          torch::nn::AnyModule(torch::nn::Dropout(0.2)), torch::nn::AnyModule(torch::nn::Tanh())};
}

Model normModel(int layers) {
  return chainModel(std::vector<LayerMaker>(static_cast<std::size_t>(layers), normLayer),
                    [](const at::Tensor& a, const at::Tensor& b) { return at::mse_loss(a, b); });
}

/// A stage with the whole model, which runs one micro-batch.
class AloneStage {
 public:
  AloneStage(Model model, double recompute)
      : model_(std::move(model)),
        cut_(cutModel(model_, partitionWith(recompute), 1)),
        stage_(model_, cut_.stages[0], 3) {}

  Stage& operator*() { return stage_; }
  Stage* operator->() { return &stage_; }

  void forward(int microBatch, std::int64_t rows = 6) {
    batch_ = {at::ones({rows, 4}).cumsum(0) * (microBatch + 1), at::zeros({rows, 4})};
    stage_.forward({.microBatch = microBatch, .batch = &batch_}, {});
  }

 private:
  Partition partitionWith(double recompute) const {
    return {.blocks = {static_cast<int>(model_.blocks.size())}, .recomputeRatio = {recompute}};
  }

  const Model model_;
  const ModelCut cut_;
  Stage stage_;
  Tensors batch_;
};

std::vector<at::Tensor> gradientsOf(const Stage& stage) {
  std::vector<at::Tensor> all;
  for (const at::Tensor& parameter : stage.parameters()) all.push_back(parameter.grad());
  return all;
}

TEST(Stage, RunningBlocksAgainGivesTheSameBits) {
  AloneStage plain(normModel(4), 0);
  for (const double ratio : {0.3, 0.5, 1.0}) {
    AloneStage again(normModel(4), ratio);
    for (AloneStage* const stage : {&plain, &again}) {
      for (at::Tensor parameter : (*stage)->parameters()) parameter.mutable_grad() = at::Tensor();
      for (const int mb : {0, 1}) stage->forward(mb);
      (*stage)->backward(0, {});
      (*stage)->recompute(1);
      (*stage)->recompute(1);  // once is enough
      (*stage)->backwardInput(1, {});
      (*stage)->backwardWeight(1);
    }
    const auto a = gradientsOf(*plain);
    const auto b = gradientsOf(*again);
    for (std::size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(a[i].equal(b[i])) << ratio << " " << i;
  }
}

TEST(Stage, BuffersChangeOnceAlthoughTheirBlockRunsAgain) {
  std::vector<at::Tensor> buffers;  // of the last layer's norm
  const auto watched = [&](double ratio) {
    Model model = normModel(2);
    const auto make = model.blocks[1].make;
    model.blocks[1].make = [&buffers, make] {
      auto block = make();
      buffers = block->buffers();
      return block;
    };
    AloneStage stage(model, ratio);
    for (const int mb : {0, 1, 2}) stage.forward(mb);
    for (const int mb : {0, 1, 2}) stage->backward(mb, {});
    std::vector<at::Tensor> copies;
    for (const at::Tensor& buffer : buffers) copies.push_back(buffer.clone());
    return copies;
  };
  const auto plain = watched(0);
  const auto again = watched(1);
  ASSERT_EQ(plain.size(), 3U);
  EXPECT_EQ(plain[2].item<int>(), 3) << "micro-batches";
  for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(plain[i].equal(again[i])) << i;
}

// A tensor of the graph, alive or not.
TEST(Stage, KeepsOnlyTheInputsOfBlocksThatRunAgainUntilTheyDo) {
  std::vector<c10::weak_intrusive_ptr<c10::TensorImpl>> saved;
  const auto countAlive = [&] {
    return std::count_if(saved.begin(), saved.end(),
                         [](const auto& each) { return !each.expired(); });
  };
  Model model = normModel(0);
  for (int i = 0; i < 4; ++i) {
    Block block{.name = "b" + std::to_string(i),
                .inputs = {i == 0 ? "inputs" : "x" + std::to_string(i - 1)},
                .outputs = {BlockOutput("x" + std::to_string(i))}};
    block.make = [&saved] {
      const at::Tensor factor = at::ones({1}).requires_grad_();
      return std::make_shared<BodyBlock>([&saved, factor](const Tensors& inputs) -> Tensors {
        const at::Tensor product = inputs[0] * factor;
        saved.emplace_back(product.getIntrusivePtr());
        return {product * product};  // autograd keeps `product`
      });
    };
    model.blocks.push_back(std::move(block));
  }
  model.lossInputs = {"x3", "targets"};
  AloneStage stage(model, 0.5);
  stage.forward(0);
  EXPECT_EQ(countAlive(), 2) << "of the two blocks that do not run again";
  stage->recompute(0);
  EXPECT_EQ(countAlive(), 4);
  stage->backward(0, {});
  EXPECT_EQ(countAlive(), 0);
}

TEST(Stage, ABlockThatFailsOrLiesIsNamed) {
  const auto errorWith = [](const Body& body) {
    Model model = normModel(1);
    model.blocks[0].name = "odd";
    model.blocks[0].make = [body] { return std::make_shared<BodyBlock>(body); };
    AloneStage stage(model, 0);
    return errorOf([&] { stage.forward(0); });
  };
  EXPECT_THAT(errorWith([](const Tensors& in) {
                return Tensors{in[0].matmul(at::ones({3, 3}))};
              }),
              ::testing::AllOf(HasSubstr("block 0 (odd): "), HasSubstr("6x4 and 3x3")));
  EXPECT_EQ(errorWith([](const Tensors&) -> Tensors { throw std::out_of_range("no such word"); }),
            "block 0 (odd): no such word");
  EXPECT_EQ(errorWith([](const Tensors&) { return Tensors{}; }),
            "block 0 (odd) made 0 tensors, but says that it makes 1");
  EXPECT_EQ(errorWith([](const Tensors&) { return Tensors{at::Tensor()}; }),
            "block 0 (odd) made no tensor output 0");
}

TEST(Stage, AnOutputThatChangesItsShapeOrTypeIsReportedWithItsBlock) {
  int call = 0;
  Model model = normModel(2);
  model.blocks[0].make = [&call] {
    return std::make_shared<BodyBlock>([&call](const Tensors& in) -> Tensors {
      ++call;
      if (call == 3) return {in[0].repeat({1, 2})};
      if (call == 4) return {in[0].to(at::kDouble)};
      return {in[0]};
    });
  };
  const ModelCut cut = cutModel(model, {.blocks = {1, 1}}, 2);
  Stage stage(model, cut.stages[0], 1);
  const auto forward = [&](int microBatch, std::int64_t rows) {
    const Tensors batch{at::ones({rows, 4}), at::Tensor()};
    std::vector<Message> out(1);
    stage.forward({.microBatch = microBatch, .batch = &batch}, {{}, out});
  };
  forward(0, 3);
  EXPECT_NO_THROW(forward(1, 2)) << "micro-batches may be uneven";
  EXPECT_THAT(errorOf([&] { forward(2, 2); }), HasSubstr("block 0 (layer 0) made a tensor of "));
  EXPECT_THAT(errorOf([&] { forward(3, 2); }), HasSubstr("for a micro-batch before"));
}

TEST(Stage, AHalfWithoutTheHalfBeforeItIsReported) {
  AloneStage stage(normModel(1), 0);
  EXPECT_THAT(errorOf([&] { stage->backward(4, {}); }),
              HasSubstr("micro-batch 4 has no forward to run backward from"));
  stage.forward(0);
  EXPECT_THAT(errorOf([&] { stage->backwardWeight(0); }), HasSubstr("has no input half"));
  stage->backwardInput(0, {});
  EXPECT_EQ(stage->liveMicroBatches(), std::vector{0});
  stage->backwardWeight(0);
  EXPECT_TRUE(stage->liveMicroBatches().empty());
}

TEST(Stage, WeightsDependOnSeedAndBlockAlone) {
  const Model model = normModel(4);
  const ModelCut two = cutModel(model, {.blocks = {2, 2}}, 2);
  const ModelCut one = cutModel(model, {.blocks = {4}}, 1);
  const Stage second(model, two.stages[1], 9);
  const Stage whole(model, one.stages[0], 9);
  const Stage other(model, one.stages[0], 10);
  const auto parameters = second.namedParameters();
  const auto all = whole.namedParameters();
  EXPECT_EQ(parameters[0].first, "2.0.weight");
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto& same = all[i + parameters.size()];
    EXPECT_EQ(parameters[i].first, same.first);
    EXPECT_TRUE(parameters[i].second.equal(same.second)) << same.first;
  }
  EXPECT_FALSE(whole.parameters()[0].equal(other.parameters()[0]));
  EXPECT_FALSE(all[0].second.equal(all[4].second)) << "each block has weights of its own";
}

}  // namespace
}  // namespace pipetrace
