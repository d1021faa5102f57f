#include "runtime/train/model/model_cut.h"

#include <gmock/gmock.h>

#include "runtime/testing/error_of.h"

namespace pipetrace {
namespace {

using ::testing::ElementsAre;
using testing::errorOf;
using ::testing::HasSubstr;

class NoBlock : public BlockModule {
 public:
  Tensors run(const Tensors& inputs) override { return inputs; }
};

Block block(const std::string& name, std::vector<std::string> inputs,
            std::vector<BlockOutput> outputs) {
  return {.name = name, .inputs = std::move(inputs), .outputs = std::move(outputs), .make = [] {
            return std::make_shared<NoBlock>();
          }};
}

// tokens -> a (x0, mask) -> b (x1) -> c (x2) -> d (x3, needs x0) -> loss (x3, x1, targets)
Model model() {
  Model made{.batch = {"tokens", "scale", "targets"}};
  made.blocks = {block("a", {"tokens"}, {"x0", {"mask", false}}),
                 block("b", {"x0", "mask"}, {"x1"}), block("c", {"x1", "mask", "scale"}, {"x2"}),
                 block("d", {"x2", "x0"}, {"x3"})};
  made.lossInputs = {"x3", "x1", "targets"};
  made.loss = [](const Tensors& inputs) { return inputs[0]; };
  return made;
}

TensorRoute route(int from, int to, bool hasGradient = true) { return {from, to, hasGradient}; }

TEST(ModelCut, ATensorGoesDirectlyToEachStageThatNeedsIt) {
  const ModelCut cut = cutModel(model(), {.blocks = {1, 1, 1, 1}}, 4);
  EXPECT_THAT(cut.routes, ElementsAre(route(0, 1), route(0, 1, false), route(0, 2, false),
                                      route(0, 3), route(1, 2), route(1, 3), route(2, 3)));
  // By hand: the batch's tensors are loaded where they are used.
  EXPECT_EQ(cut.stages[0].batch.size(), 1U);
  EXPECT_TRUE(cut.stages[1].batch.empty());
  EXPECT_EQ(cut.stages[2].batch.at(0).second, 1);
  EXPECT_EQ(cut.stages[3].batch.at(0).second, 2);
  // The gradient of x0 from the furthest stage is added first.
  EXPECT_THAT(cut.stages[0].gradientOrder, ElementsAre(3, 0));
}

TEST(ModelCut, BlocksOfOneStageNeedNoRoute) {
  const ModelCut cut = cutModel(model(), {.blocks = {3, 1}}, 2);
  EXPECT_THAT(cut.routes, ElementsAre(route(0, 1), route(0, 1), route(0, 1)));
  EXPECT_EQ(cut.stages[0].outgoing[0].block, 2);  // x2, x0 and x1 in the order of their use
  EXPECT_EQ(cut.stages[0].outgoing[1].block, 0);
  EXPECT_EQ(cut.stages[0].outgoing[2].block, 1);
  EXPECT_TRUE(cutModel(model(), {.blocks = {4}}, 1).routes.empty());
}

TEST(ModelCut, AStageThatMakesNothingForTheNextOneSendsAnEmptyMessage) {
  Model skipping = model();
  skipping.blocks = {block("a", {"tokens"}, {"x0"}), block("b", {"x0"}, {"x1"}),
                     block("c", {"tokens"}, {"x2"}), block("d", {"x1", "x2"}, {"x3"})};
  const ModelCut cut = cutModel(skipping, {.blocks = {1, 1, 1, 1}}, 4);
  EXPECT_THAT(cut.routes, ElementsAre(route(0, 1), route(1, 2), route(1, 3), route(2, 3)));
  EXPECT_EQ(cut.stages[1].outgoing[0].slot, StageCut::kNone);
  EXPECT_EQ(cut.stages[2].incoming[0].slot, StageCut::kNone);
}

TEST(ModelCut, TheLastBlocksOfAStageRunAgain) {
  // int(0.5 * 3) = 1 of a, b and c; it needs x1, mask and scale.
  const ModelCut cut = cutModel(model(), {.blocks = {3, 1}, .recomputeRatio = {0.5, 0.99}}, 2);
  EXPECT_EQ(cut.stages[0].recomputed, 1);
  EXPECT_EQ(cut.stages[0].boundary.size(), 3U);
  EXPECT_EQ(cut.stages[1].recomputed, 0);
  EXPECT_TRUE(cut.stages[1].boundary.empty());
}

TEST(ModelCut, AModelThatCannotBeIsRefusedWithTheNameOfTheBlock) {
  const Partition one{.blocks = {4}};
  const auto refused = [&](const std::function<void(Model&)>& change) {
    Model broken = model();
    change(broken);
    return errorOf([&] { cutModel(broken, one, 1); });
  };
  EXPECT_THAT(refused([](Model& m) { m.blocks[1].inputs[1] = "msk"; }),
              HasSubstr("block 1 (b) needs the tensor msk, which neither the batch has nor a block "
                        "before it makes; there are: tokens, scale, targets, x0, mask"));
  EXPECT_THAT(refused([](Model& m) { m.blocks[1].inputs[1] = "x2"; }),
              HasSubstr("block 1 (b) needs the tensor x2"));
  EXPECT_THAT(refused([](Model& m) { m.lossInputs[0] = "y"; }),
              HasSubstr("the loss needs the tensor y"));
  EXPECT_THAT(refused([](Model& m) { m.blocks[3].outputs[0].name = "x1"; }),
              HasSubstr("block 3 (d) makes a second tensor with the name x1"));
  EXPECT_THAT(refused([](Model& m) { m.blocks[3].outputs[0].name = "tokens"; }),
              HasSubstr("block 3 (d) makes a second tensor"));
  EXPECT_THAT(refused([](Model& m) { m.blocks[3].name = "a"; }),
              HasSubstr("block 3 (a) has the name of a block before it"));
  EXPECT_THAT(refused([](Model& m) { m.blocks[2].make = nullptr; }), HasSubstr("block 2 (c)"));
  EXPECT_THAT(refused([](Model& m) {
                m.ties = {{{"a", "w"}, {"e", "w"}}};
              }),
              HasSubstr("the block e is tied, but the model has no such block"));
}

TEST(ModelCut, APartitionThatDoesNotAddUpIsRefused) {
  EXPECT_EQ(errorOf([] {
              cutModel(model(), {.blocks = {2, 1}}, 2);
            }),
            "the partition adds up to 3 blocks, but the model has 4");
  EXPECT_EQ(errorOf([] {
              cutModel(model(), {.blocks = {2, 2}}, 3);
            }),
            "the partition is for 2 stages, but the plan has 3");
  EXPECT_EQ(errorOf([] {
              cutModel(model(), {.blocks = {4, 0}}, 2);
            }),
            "the partition gives stage 1 no block");
  EXPECT_THAT(errorOf([] {
                cutModel(model(), {.blocks = {2, 2}, .recomputeRatio = {0.5, 1.5}}, 2);
              }),
              HasSubstr("recompute ratio from 0 to 1"));
}

}  // namespace
}  // namespace pipetrace
