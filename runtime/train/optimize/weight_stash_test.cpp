#include "runtime/train/optimize/weight_stash.h"

#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <gmock/gmock.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/rmsprop.h>
#include <torch/optim/sgd.h>
#include <torch/utils.h>

#include "runtime/program/version_count.h"
#include "runtime/train/optimize/lamb.h"
#include "runtime/train/optimize/optimizer_maker.h"
#include "schedule/build_schedule.h"
#include "schedule/check/checked_plan.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using ::testing::ElementsAre;

OptimizerMaker sgdOf(double rate) {
  return [rate](const NamedParameters& parameters) {
    return std::make_unique<torch::optim::SGD>(tensorsOf(parameters),
                                               torch::optim::SGDOptions(rate));
  };
}

/// The weights that the micro-batches of a stage saw.
struct Seen {
  std::vector<double> byForward;  ///< the weight's value, by micro-batch
  std::vector<double> byBackward;
  double last = 0;
  int mostHeld = 0;
  std::int64_t copiedBytes = 0;
};

/// Runs a stage of `plan` with one weight that is 0 at first, whose every gradient is 1, learning
/// rate 1: version n of the newest rule is -n.
Seen runStage(const CheckedPlan& plan, int stage, StashUpdate rule, int steps = 1,
              const OptimizerMaker& maker = sgdOf(1)) {
  const at::Tensor handle = at::zeros({1}).requires_grad_();
  WeightStash stash({{"0.weight", handle}}, maker, rule);
  const int rank = plan->placement.firstRankOf(stage);
  VersionCount count(*plan, rank);
  Seen seen;
  for (int step = 0; step < steps; ++step) {
    count.beginStep();
    stash.beginStep(count.usesOf(stage));
    int done = 0;
    for (const Action& action : plan->ranks[static_cast<std::size_t>(rank)]) {
      if (action.stage != stage) continue;
      const int version = count.usedBy(stage, action.microBatch);
      stash.use(version);
      const bool isForward = action.kind == JobKind::kForward;
      (isForward ? seen.byForward : seen.byBackward).push_back(handle.item<double>());
      if (isForward) continue;
      at::Tensor(handle).mutable_grad() = at::ones({1});
      stash.release(version);
      if (++done % plan->updates.everyOf(0) == 0) stash.update(version);
    }
  }
  seen.last = handle.item<double>();
  seen.mostHeld = stash.mostHeld();
  seen.copiedBytes = stash.copiedBytes();
  return seen;
}

// PipeDream, 4 stages, 8 micro-batches, worked out by hand. Stage s has 4 - s micro-batches in
// flight, so forward i comes right after backward i - (4 - s): at stage 0, F0 F1 F2 F3 B0 F4 B1 F5.
TEST(WeightStash, TheNewestVersionIsUpdatedAsInTheTableOfPipeDream) {
  const CheckedPlan plan = buildSchedule("PipeDream", 4, 8);
  const Seen first = runStage(plan, 0, StashUpdate::kNewest);
  EXPECT_THAT(first.byForward, ElementsAre(0, 0, 0, 0, -1, -2, -3, -4));
  EXPECT_THAT(first.byBackward, ElementsAre(0, 0, 0, 0, -1, -2, -3, -4)) << "the forward's weights";
  EXPECT_EQ(first.last, -8);
  EXPECT_EQ(first.mostHeld, 4);
  const Seen third = runStage(plan, 2, StashUpdate::kNewest);
  EXPECT_THAT(third.byForward, ElementsAre(0, 0, -1, -2, -3, -4, -5, -6));
  EXPECT_EQ(third.mostHeld, 2);
  const Seen last = runStage(plan, 3, StashUpdate::kNewest);
  EXPECT_THAT(last.byForward, ElementsAre(0, -1, -2, -3, -4, -5, -6, -7));
  EXPECT_EQ(last.mostHeld, 1);
}

// The same with VPipe's rule: version i + 1 is made of the version that micro-batch i used. Stage
// 0: 1 to 4 are made of 0, 5 of 1, 6 of 2, 7 of 3, 8 of 4.
TEST(WeightStash, TheOldestVersionIsUpdatedAsInTheTableOfVPipe) {
  const CheckedPlan plan = buildSchedule("PipeDream", 4, 8);
  const Seen first = runStage(plan, 0, StashUpdate::kOldest);
  EXPECT_THAT(first.byForward, ElementsAre(0, 0, 0, 0, -1, -1, -1, -1));
  EXPECT_THAT(first.byBackward, ElementsAre(0, 0, 0, 0, -1, -1, -1, -1));
  EXPECT_EQ(first.last, -2);
  // Stage 2: 1 and 2 of 0, 3 of 1, 4 of 2, …
  const Seen third = runStage(plan, 2, StashUpdate::kOldest);
  EXPECT_THAT(third.byForward, ElementsAre(0, 0, -1, -1, -2, -2, -3, -3));
  EXPECT_EQ(third.last, -4);
  EXPECT_THAT(runStage(plan, 3, StashUpdate::kOldest).byForward,
              ElementsAre(0, -1, -2, -3, -4, -5, -6, -7));
}

TEST(WeightStash, TwoBuffersAreEnoughFor2bw) {
  // Groups of 4: micro-batches 0 to 7 use version 0, 8 to 11 version 1, 12 to 15 version 2.
  const CheckedPlan plan = buildSchedule("PipeDream-2BW", 4, 16);
  for (int stage = 0; stage < 4; ++stage) {
    const Seen seen = runStage(plan, stage, StashUpdate::kNewest);
    EXPECT_THAT(seen.byForward,
                ElementsAre(0, 0, 0, 0, 0, 0, 0, 0, -1, -1, -1, -1, -2, -2, -2, -2));
    EXPECT_EQ(seen.byBackward, seen.byForward);
    EXPECT_EQ(seen.mostHeld, 2);
    EXPECT_EQ(seen.last, -4);
  }
}

TEST(WeightStash, AsManyVersionsAreHeldAsThePlanNeedsAndTheyGoOnOverSteps) {
  for (const int ranks : {1, 2, 5}) {
    const CheckedPlan plan = buildSchedule("PipeDream", ranks, 7);
    const WeightVersions versions = weightVersions(*plan);
    for (int stage = 0; stage < ranks; ++stage) {
      const Seen seen = runStage(plan, stage, StashUpdate::kNewest, 3);
      EXPECT_EQ(seen.mostHeld, versions.stages[static_cast<std::size_t>(stage)].held);
      EXPECT_EQ(seen.last, -21);
      EXPECT_EQ(seen.byForward[7], -7) << "the first of the second step";
    }
  }
}

TEST(WeightStash, OnlyOtherOptimizersCopyAndOnlyWhereSeveralVersionsAreHeld) {
  const auto rmsprop = [](const NamedParameters& parameters) {
    return std::make_unique<torch::optim::RMSprop>(tensorsOf(parameters), 0.1);
  };
  const auto adamw = [](const NamedParameters& parameters) {
    return std::make_unique<torch::optim::AdamW>(tensorsOf(parameters), 0.1);
  };
  const CheckedPlan plan = buildSchedule("PipeDream", 3, 10);
  for (int stage = 0; stage < 3; ++stage) {
    EXPECT_EQ(runStage(plan, stage, StashUpdate::kNewest).copiedBytes, 0);
    EXPECT_EQ(runStage(plan, stage, StashUpdate::kNewest, 1, adamw).copiedBytes, 0);
  }
  // Stage 0 has 3 versions: all updates but the last find users of the newest. Stage 2 has one.
  EXPECT_EQ(runStage(plan, 2, StashUpdate::kNewest, 1, rmsprop).copiedBytes, 0);
  const std::int64_t copied = runStage(plan, 0, StashUpdate::kNewest, 1, rmsprop).copiedBytes;
  EXPECT_GT(copied, 0);
  EXPECT_LE(copied, 10 * 4) << "one copy of the 4 bytes an update";
}

TEST(WeightStash, AVersionThatIsNotKeptIsReported) {
  WeightStash stash({{"0.weight", at::zeros({2}).requires_grad_()}}, sgdOf(1),
                    StashUpdate::kNewest);
  stash.beginStep({1});
  EXPECT_THROW(stash.use(3), Error);
}

/// The bits of several updates by WeightStash and by the optimizer alone.
void expectSameBits(const OptimizerMaker& maker, const std::string& what) {
  torch::manual_seed(5);
  const at::Tensor start = at::randn({37});
  const at::Tensor handle = start.clone().requires_grad_();
  const at::Tensor alone = start.clone().requires_grad_();
  const auto optimizer = maker({{"0.weight", alone}});
  WeightStash stash({{"0.weight", handle}}, maker, StashUpdate::kNewest);
  stash.beginStep({2, 2, 2, 2, 2, 2});  // two each, and none is ever released: each stays
  for (int i = 0; i < 6; ++i) {
    const at::Tensor gradient = at::randn({37});
    at::Tensor(handle).mutable_grad() = gradient.clone();
    at::Tensor(alone).mutable_grad() = gradient.clone();
    stash.update(i);
    optimizer->step();
    stash.use(i + 1);
    EXPECT_TRUE(handle.equal(alone)) << what << " " << i;
  }
  EXPECT_EQ(stash.held(), 7);
  EXPECT_EQ(stash.copiedBytes(), 0) << what;
  stash.use(0);
  EXPECT_TRUE(handle.equal(start)) << "the old one is as it was";
}

TEST(WeightStash, NewVersionsHaveTheBitsOfTheOptimizerAlone) {
  const auto sgd = [](torch::optim::SGDOptions options) {
    return [options](const NamedParameters& parameters) {
      return std::make_unique<torch::optim::SGD>(tensorsOf(parameters), options);
    };
  };
  using torch::optim::SGDOptions;
  expectSameBits(sgd(SGDOptions(0.1)), "SGD");
  expectSameBits(sgd(SGDOptions(0.1).weight_decay(0.02)), "SGD with decay");
  expectSameBits(sgd(SGDOptions(0.1).momentum(0.9).dampening(0.1)), "SGD with momentum");
  expectSameBits(sgd(SGDOptions(0.1).momentum(0.9).nesterov(true).weight_decay(0.01)), "Nesterov");
  for (const double decay : {0.0, 0.05}) {
    expectSameBits(
        [decay](const NamedParameters& parameters) {
          return std::make_unique<torch::optim::Adam>(
              tensorsOf(parameters), torch::optim::AdamOptions(0.01).weight_decay(decay));
        },
        "Adam");
    expectSameBits(
        [decay](const NamedParameters& parameters) {
          return std::make_unique<torch::optim::AdamW>(
              tensorsOf(parameters), torch::optim::AdamWOptions(0.01).weight_decay(decay));
        },
        "AdamW");
    expectSameBits(
        [decay](const NamedParameters& parameters) {
          return std::make_unique<Lamb>(tensorsOf(parameters),
                                        LambOptions(0.01).weight_decay(decay));
        },
        "LAMB");
  }
}

// By hand: each gradient is 1, learning rate 1. The matrix is decayed by a half of itself, and is
// w - w / 2 - 1; the bias is b - 1.
TEST(WeightStash, EachGroupOfParametersHasItsOptions) {
  const at::Tensor weight = at::full({1, 1}, 8.0).requires_grad_();
  const at::Tensor bias = at::full({1}, 8.0).requires_grad_();
  const OptimizerMaker maker = [](const NamedParameters& parameters) {
    return std::make_unique<torch::optim::SGD>(
        decayGroups(parameters, torch::optim::SGDOptions(1), {.rate = 0.5}),
        torch::optim::SGDOptions(1));
  };
  WeightStash stash({{"0.weight", weight}, {"0.bias", bias}}, maker, StashUpdate::kNewest);
  stash.beginStep({2, 2, 2});
  const double expected[][2] = {{3, 7}, {0.5, 6}};  // 8 - 4 - 1, 3 - 1.5 - 1
  for (int i = 0; i < 2; ++i) {
    at::Tensor(weight).mutable_grad() = at::ones({1, 1});
    at::Tensor(bias).mutable_grad() = at::ones({1});
    stash.update(i);
    EXPECT_EQ(weight.item<double>(), expected[i][0]);
    EXPECT_EQ(bias.item<double>(), expected[i][1]);
  }
  stash.use(0);
  EXPECT_EQ(weight.item<double>(), 8);
}

}  // namespace
}  // namespace pipetrace
