#include "runtime/train/optimize/lamb.h"

#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <string>
#include <vector>

#include "runtime/train/optimize/optimizer_maker.h"

namespace pipetrace {
namespace {

std::vector<double> valuesOf(const at::Tensor& tensor) {
  const at::Tensor flat = tensor.detach().flatten().contiguous();
  return {flat.data_ptr<double>(), flat.data_ptr<double>() + flat.numel()};
}

void expectValues(const std::vector<double>& values, const std::vector<double>& expected,
                  const std::string& what) {
  ASSERT_EQ(values.size(), expected.size()) << what;
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_NEAR(values[i], expected[i], 2e-9) << what << ", element " << i;
  }
}

struct ThreeSteps {
  double decay = 0;
  std::vector<std::vector<double>> matrix;  // after each step
};

// From timm 1.0's Lamb (Python, torch 2.11, float64): lr 0.1, eps 1e-6, max_grad_norm=None,
// always_adapt=True, three steps; the matrix is decayed, the bias is not and begins at 0.
TEST(Lamb, ItsStepsAreThoseOfTimm) {
  const ThreeSteps cases[] = {
      {0,
       {{0.398964301, -0.898963796, 1.898963627, 0.148963543, 0.648963492, -0.398963459},
        {0.491842789, -0.991842577, 1.991842507, 0.241842472, 0.74184245, -0.491842436},
        {0.391478523, -0.891478079, 1.891477932, 0.141477858, 0.641477813, -0.391477784}}},
      {0.05,
       {{0.400618225, -0.898193771, 1.893345671, 0.151829483, 0.649405465, -0.400617417},
        {0.497636134, -0.988237448, 1.969440331, 0.25233517, 0.742936622, -0.497635878},
        {0.402412406, -0.886668203, 1.855180391, 0.160283794, 0.644539912, -0.402411811}}}};
  const std::vector<double> biases[] = {{-0.0999998, 0.0999996, -0.0999992},
                                        {-0.10999977, 0.109999558, -0.109999132},
                                        {-0.120999732, 0.12099951, -0.120999064}};
  for (const ThreeSteps& one : cases) {
    at::Tensor matrix =
        torch::tensor({{0.5, -1.0, 2.0}, {0.25, 0.75, -0.5}}, at::kDouble).requires_grad_();
    at::Tensor bias = at::zeros({3}, at::kDouble).requires_grad_();
    const LambOptions options(0.1);
    Lamb optimizer(
        decayGroups({{"0.weight", matrix}, {"0.bias", bias}}, options, {.rate = one.decay}),
        options);
    for (int step = 0; step < 3; ++step) {
      const std::string what =
          "decay " + std::to_string(one.decay) + ", step " + std::to_string(step);
      const double factor = (step + 1) * (step == 1 ? -1 : 1);
      matrix.mutable_grad() =
          torch::tensor({{0.1, -0.2, 0.3}, {0.4, 0.5, -0.6}}, at::kDouble) * factor;
      bias.mutable_grad() = torch::tensor({0.5, -0.25, 0.125}, at::kDouble) * (step + 1);
      optimizer.step();
      expectValues(valuesOf(matrix), one.matrix[static_cast<std::size_t>(step)], what);
      expectValues(valuesOf(bias), biases[step], what + ", bias");
    }
  }
}

// By hand: the norm of the change is the learning rate times the norm of the value, whatever the
// gradient's size.
TEST(Lamb, TheFirstStepIsTheLearningRatesShareOfTheWeights) {
  for (const double size : {1e-3, 1.0, 1e3}) {
    torch::manual_seed(3);
    at::Tensor weight = at::randn({5, 7}, at::kDouble).requires_grad_();
    const at::Tensor before = weight.detach().clone();
    weight.mutable_grad() = at::randn({5, 7}, at::kDouble) * size;
    Lamb({weight}, LambOptions(0.01)).step();
    const double change = (weight.detach() - before).norm().item<double>();
    EXPECT_NEAR(change / before.norm().item<double>(), 0.01, 1e-12) << size;
  }
}

TEST(Lamb, WithoutAGradientAParameterStaysAndWithAZeroOneItIsFinite) {
  at::Tensor without = at::ones({3}).requires_grad_();
  at::Tensor zero = at::ones({3}).requires_grad_();
  zero.mutable_grad() = at::zeros({3});
  Lamb optimizer({without, zero}, LambOptions(0.1));
  optimizer.step();
  EXPECT_TRUE(at::equal(without, at::ones({3})));
  EXPECT_TRUE(at::equal(zero, at::ones({3})));
  EXPECT_EQ(optimizer.state().count(without.unsafeGetTensorImpl()), 0U);
}

TEST(Lamb, OptionsThatMakeNoSenseAreRefused) {
  const at::Tensor weight = at::ones({1});
  EXPECT_THROW(Lamb({weight}, LambOptions(-1)), c10::Error);
  EXPECT_THROW(Lamb({weight}, LambOptions(1).eps(-1)), c10::Error);
  EXPECT_THROW(Lamb({weight}, LambOptions(1).betas({1, 0.9})), c10::Error);
  EXPECT_THROW(Lamb({weight}, LambOptions(1).betas({0.9, -0.1})), c10::Error);
  EXPECT_THROW(Lamb({weight}, LambOptions(1).weight_decay(-1)), c10::Error);
}

}  // namespace
}  // namespace pipetrace
