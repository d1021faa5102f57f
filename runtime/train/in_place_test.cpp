// A tensor without a gradient is the same for all that need it, wherever they run.
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <gmock/gmock.h>
#include <torch/optim/sgd.h>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/executor.h"
#include "runtime/testing/run_ranks.h"
#include "runtime/train/torch_work.h"
#include "schedule/build_schedule.h"
#include "schedule/forward_part.h"

namespace pipetrace {
namespace {

using ::testing::HasSubstr;
using testing::Wiring;

/// A block that runs a function of the test, with one weight of 2.
class GivenBlock : public BlockModule {
 public:
  using Told = std::function<Tensors(const Tensors& inputs, const at::Tensor& weight)>;

  explicit GivenBlock(Told told) : told_(std::move(told)) {
    weight_ = register_parameter("weight", at::full({1}, 2.0));
  }
  Tensors run(const Tensors& inputs) override { return told_(inputs, weight_); }

 private:
  const Told told_;
  at::Tensor weight_;
};

Block block(const std::string& name, std::vector<std::string> inputs,
            std::vector<BlockOutput> outputs, GivenBlock::Told told) {
  return {.name = name,
          .inputs = std::move(inputs),
          .outputs = std::move(outputs),
          .make = [told = std::move(told)] { return std::make_shared<GivenBlock>(told); }};
}

Tensors pass(const Tensors& in, const at::Tensor& /*weight*/) { return {in[0]}; }

/// x = 2 * 1 and a mask of ones; the second block does `change`, and the third x * mask. A block
/// that only passes x on follows each, so that there are six.
Model maskedModel(GivenBlock::Told change) {
  Model model{.batch = {"inputs"}};
  model.blocks = {
      block("maker", {"inputs"}, {"x0", {"mask", false}},
            [](const Tensors& in, const at::Tensor& weight) -> Tensors {
              return {in[0] * weight, at::ones({in[0].size(0), 1})};
            }),
      block("first", {"x0"}, {"x1"}, pass),
      block("changer", {"x1", "mask"}, {"x2"}, std::move(change)),
      block("second", {"x2"}, {"x3"}, pass),
      block("reader", {"x3", "mask"}, {"x4"},
            [](const Tensors& in, const at::Tensor&) -> Tensors { return {in[0] * in[1]}; }),
      block("third", {"x4"}, {"x5"}, pass)};
  model.lossInputs = {"x5"};
  model.loss = [](const Tensors& in) { return in[0].mean(); };
  return model;
}

/// Where the six blocks run.
struct Place {
  std::string name;
  Wiring wiring = Wiring::kInProcess;
  CheckedPlan plan;
};

std::vector<Place> places() {
  const CheckedPlan ofThree = buildSchedule("1F1B", 3, 2);
  // Maker, changer and reader are stages of rank 0.
  const CheckedPlan ofTwo = buildSchedule("Interleaved1F1B", PlanSize{2, 2, 3});
  return {{"a rank that is alone", Wiring::kInProcess, buildSchedule("1F1B", 1, 2)},
          {"in-process", Wiring::kInProcess, ofThree},
          {"stages of one rank over Gloo", Wiring::kGloo, ofTwo},
          {"ranks over Gloo", Wiring::kGloo, ofThree}};
}

struct Outcome {
  std::optional<double> loss;
  std::string error;  // all ranks' errors
};

Outcome outcomeOf(const Place& place, const Model& model, double recompute = 0) {
  Outcome outcome;
  const CheckedPlan& plan = place.plan;
  const auto errors =
      testing::runConnected(place.wiring, plan->numRanks(), [&](Transport& transport) {
        TorchWorkOptions options{.model = model,
                                 .partition = evenPartition(6, plan->numStages),
                                 .numMicroBatches = 2,
                                 .optimizer = [](const NamedParameters& parameters) {
                                   return std::make_unique<torch::optim::SGD>(
                                       tensorsOf(parameters), torch::optim::SGDOptions(0.5));
                                 }};
        if (recompute > 0) {
          options.partition.recomputeRatio.assign(options.partition.blocks.size(), recompute);
        }
        TorchWork work(std::move(options), plan->stagesOfRank(transport.rank()));
        Executor executor(plan, work, transport);
        work.load({{"inputs", at::ones({4, 1})}});
        executor.runStep(0);
        if (work.loss()) outcome.loss = work.loss();
        executor.finish();
      });
  for (const std::string& error : errors) outcome.error += error;
  return outcome;
}

Tensors changeInPlace(const Tensors& in, const at::Tensor& /*weight*/) {
  return {in[0] * in[1].mul_(3)};
}

TEST(InPlaceTest, AMaskThatABlockChangesInPlaceIsAnErrorWhereverTheBlockRuns) {
  for (const Place& place : places()) {
    for (const double recompute : {0.0, 1.0}) {
      const Outcome outcome = outcomeOf(place, maskedModel(changeInPlace), recompute);
      EXPECT_EQ(outcome.loss, std::nullopt) << place.name;
      EXPECT_THAT(outcome.error, HasSubstr("block 2 (changer) changed its input mask in place"))
          << place.name;
    }
  }
}

TEST(InPlaceTest, ABlockThatChangesItsOwnCopyGivesTheSameLossWhereverItRuns) {
  const Model model = maskedModel([](const Tensors& in, const at::Tensor&) -> Tensors {
    return {in[0] * in[1].clone().mul_(3)};
  });
  for (const Place& place : places()) {
    for (const double recompute : {0.0, 1.0}) {
      const Outcome outcome = outcomeOf(place, model, recompute);
      EXPECT_EQ(outcome.error, "") << place.name;
      EXPECT_EQ(outcome.loss, 2.0 * 3 * 1) << place.name;
    }
  }
}

TEST(InPlaceTest, AMaskThatNobodyChangesIsNotCopiedBetweenStagesOfAProcess) {
  for (const Place& place : places()) {
    if (place.wiring == Wiring::kGloo) continue;
    std::atomic<const void*> made = nullptr;
    std::atomic<const void*> read = nullptr;
    Model model = maskedModel(pass);
    model.blocks[0] = block("maker", {"inputs"}, {"x0", {"mask", false}},
                            [&](const Tensors& in, const at::Tensor& weight) -> Tensors {
                              at::Tensor mask = at::ones({in[0].size(0), 1});
                              made = mask.const_data_ptr();
                              return {in[0] * weight, mask};
                            });
    model.blocks[4] = block("reader", {"x3", "mask"}, {"x4"},
                            [&](const Tensors& in, const at::Tensor&) -> Tensors {
                              read = in[1].const_data_ptr();
                              return {in[0] * in[1]};
                            });
    // One micro-batch, so that both are of the same.
    const Place one{place.name, place.wiring, buildSchedule("1F1B", place.plan->numRanks(), 1)};
    const auto errors =
        testing::runConnected(one.wiring, one.plan->numRanks(), [&](Transport& transport) {
          TorchWork work({.model = model,
                          .partition = evenPartition(6, one.plan->numStages),
                          .optimizer =
                              [](const NamedParameters& parameters) {
                                return std::make_unique<torch::optim::SGD>(
                                    tensorsOf(parameters), torch::optim::SGDOptions(0.5));
                              }},
                         one.plan->stagesOfRank(transport.rank()));
          Executor executor(one.plan, work, transport);
          work.load({{"inputs", at::ones({4, 1})}});
          executor.runStep(0);
          executor.finish();
        });
    for (const std::string& error : errors) EXPECT_EQ(error, "");
    EXPECT_EQ(made, read) << place.name;
  }
}

TEST(InPlaceTest, ABatchThatABlockOrTheLossChangesInPlaceIsAnError) {
  const Place alone = places().front();
  Model model = maskedModel(pass);
  model.blocks[2].inputs = {"x1", "inputs"};
  model.blocks[2].make = [] { return std::make_shared<GivenBlock>(changeInPlace); };
  EXPECT_THAT(outcomeOf(alone, model).error,
              HasSubstr("block 2 (changer) changed its input inputs in place"));
  model = maskedModel(pass);
  model.lossInputs = {"x5", "inputs"};
  model.loss = [](const Tensors& in) { return (in[0] * in[1].mul_(3)).mean(); };
  EXPECT_THAT(outcomeOf(alone, model).error,
              HasSubstr("the loss changed its input inputs in place"));
}

TEST(InPlaceTest, AMaskOfIntegersIsGuardedThoughItsBlockDeclaresAGradient) {
  Model model = maskedModel(pass);
  model.blocks[0] = block("maker", {"inputs"}, {"x0", "mask"},
                          [](const Tensors& in, const at::Tensor& weight) -> Tensors {
                            return {in[0] * weight, at::ones({in[0].size(0), 1}, at::kLong)};
                          });
  model.blocks[2].make = [] { return std::make_shared<GivenBlock>(changeInPlace); };
  EXPECT_THAT(outcomeOf(places()[0], model).error, HasSubstr("changed its input mask in place"));
}

Tensors halveInPlace(const Tensors& in, const at::Tensor& /*weight*/) { return {in[0].mul_(0.5)}; }

TEST(InPlaceTest, WithoutABackwardATensorOfAnotherStageIsGuardedAsAMaskIs) {
  Model model = maskedModel(halveInPlace);
  model.blocks[4].inputs = {"x3", "x1"};  // made before the changer, needed after it
  const CheckedPlan plan = forwardPart(buildSchedule("1F1B", 3, 2));
  for (const Wiring wiring : {Wiring::kInProcess, Wiring::kGloo}) {
    EXPECT_THAT(outcomeOf({"", wiring, plan}, model).error,
                HasSubstr("block 2 (changer) changed its input x1 in place"));
  }
}

TEST(InPlaceTest, ATensorWithAGradientMayBeChangedInPlaceWithinAStage) {
  // As an activation does it: x = 2 * 1, halved, times a mask of ones.
  const Model model = maskedModel(halveInPlace);
  const CheckedPlan plan = buildSchedule("1F1B", 1, 2);
  for (const CheckedPlan& each : {plan, CheckedPlan(forwardPart(*plan))}) {
    const Outcome outcome = outcomeOf({"", Wiring::kInProcess, each}, model);
    EXPECT_EQ(outcome.error, "");
    EXPECT_EQ(outcome.loss, 1.0);
  }
}

}  // namespace
}  // namespace pipetrace
