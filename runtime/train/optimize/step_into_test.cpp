#include "runtime/train/optimize/weight_stash.h"

#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/rmsprop.h>

#include "runtime/train/optimize/lamb.h"

namespace pipetrace {
namespace {

/// Whether stepInto() takes an optimizer of one parameter; it has to leave the weights alone if
/// not.
template <typename Optimizer, typename Options>
bool isTaken(const Options& options) {
  at::Tensor parameter = at::ones({2});
  parameter.mutable_grad() = at::full({2}, 0.5);
  Optimizer optimizer({parameter}, options);
  std::vector<at::Tensor> into = {at::full({2}, 7.0)};
  const bool isDone = stepInto(optimizer, {parameter}, {at::ones({2})}, into);
  EXPECT_EQ(at::equal(into[0], at::full({2}, 7.0)), !isDone);
  EXPECT_TRUE(at::equal(parameter, at::ones({2})));
  return isDone;
}

TEST(StepInto, TakesNoOptimizerWhoseBitsItDoesNotMake) {
  using torch::optim::AdamOptions;
  using torch::optim::AdamWOptions;
  EXPECT_TRUE((isTaken<torch::optim::Adam>(AdamOptions(0.1))));
  EXPECT_FALSE((isTaken<torch::optim::Adam>(AdamOptions(0.1).amsgrad(true))));
  EXPECT_TRUE((isTaken<torch::optim::AdamW>(AdamWOptions(0.1))));
  EXPECT_FALSE((isTaken<torch::optim::AdamW>(AdamWOptions(0.1).amsgrad(true))));
  EXPECT_TRUE((isTaken<Lamb>(LambOptions(0.1))));
  EXPECT_FALSE((isTaken<torch::optim::RMSprop>(torch::optim::RMSpropOptions(0.1))));
}

}  // namespace
}  // namespace pipetrace
