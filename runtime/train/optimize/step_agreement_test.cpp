#include "runtime/train/optimize/step_agreement.h"

#include <ATen/ops/full.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <torch/nn/utils/clip_grad.h>

#include <cmath>
#include <limits>

#include "runtime/testing/error_of.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using ::testing::ElementsAre;
using testing::errorOf;
using ::testing::HasSubstr;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

at::Tensor withGradient(const at::Tensor& gradient) {
  at::Tensor parameter = at::zeros(gradient.sizes());
  parameter.mutable_grad() = gradient;
  return parameter;
}

double sumOf(const std::vector<double>& terms) {
  double sum = 0;
  for (const double term : terms) sum += term;
  return sum;
}

TEST(StepAgreementTest, TermsAreTheSquaredNormsOfTheGradientsThatThereAre) {
  const at::Tensor three = withGradient(at::full({2, 2}, 1.5));
  const at::Tensor none = at::zeros({2});
  EXPECT_THAT(StepAgreement::termsOf({three, none}, {}), ElementsAre(9));
  EXPECT_THAT(StepAgreement::termsOf({three}, at::full({}, 7.0)), ElementsAre(9, 0));
  EXPECT_TRUE(StepAgreement::termsOf({}, {}).empty());
}

// In fp32 the square would be infinite.
TEST(StepAgreementTest, FiniteGradientsHaveAFiniteSum) {
  const auto terms = StepAgreement::termsOf({withGradient(at::full({4}, 3e38))}, {});
  EXPECT_NEAR(std::sqrt(terms.at(0)), 6e38, 1e33);
}

TEST(StepAgreementTest, AGradientOrALossThatIsNoFiniteNumberShows) {
  const at::Tensor good = withGradient(at::full({2}, 1.0));
  for (const double bad : {kInfinity, -kInfinity, std::nan("")}) {
    EXPECT_FALSE(
        std::isfinite(sumOf(StepAgreement::termsOf({good, withGradient(at::full({2}, bad))}, {}))));
    EXPECT_FALSE(std::isfinite(sumOf(StepAgreement::termsOf({good}, at::full({}, bad)))));
  }
}

TEST(StepAgreementTest, ClipsAsTorchDoes) {
  for (const double most : {0.5, 100.0}) {
    std::vector<at::Tensor> ours;
    std::vector<at::Tensor> theirs;
    for (const std::int64_t size : {3, 40, 500}) {
      const at::Tensor gradient = at::randn({size, 7});
      ours.push_back(withGradient(gradient.clone()));
      theirs.push_back(withGradient(gradient.clone()));
    }
    StepAgreement agreement(LossScale::fixed(1), most);
    EXPECT_TRUE(agreement.endStep(sumOf(StepAgreement::termsOf(ours, {})), ours));
    const double norm = torch::nn::utils::clip_grad_norm_(theirs, most);
    EXPECT_NEAR(agreement.norm().value(), norm, 1e-6 * norm);
    for (std::size_t i = 0; i < ours.size(); ++i) {
      EXPECT_TRUE(ours[i].grad().allclose(theirs[i].grad(), 1e-6, 0)) << most;
    }
  }
}

TEST(StepAgreementTest, IsNeededForClippingAndForALossScale) {
  EXPECT_FALSE(StepAgreement(LossScale::fixed(1), 0).isNeeded());
  EXPECT_TRUE(StepAgreement(LossScale::fixed(1), 2).isNeeded());
  EXPECT_TRUE(StepAgreement(LossScale::fixed(2), 0).isNeeded());
  EXPECT_TRUE(StepAgreement(LossScale::dynamic(), 0).isNeeded());
}

TEST(StepAgreementTest, AStepThatWasLeftOutHasNoNormAndClipsNothing) {
  StepAgreement agreement(LossScale::dynamic(), 1);
  const at::Tensor parameter = withGradient(at::full({1}, kInfinity));
  EXPECT_FALSE(agreement.endStep(kInfinity, {parameter}));
  EXPECT_FALSE(agreement.norm().has_value());
  EXPECT_TRUE(agreement.leftOutStep());
  EXPECT_EQ(parameter.grad().item<double>(), kInfinity);
  EXPECT_TRUE(agreement.endStep(4, {}));
  EXPECT_EQ(agreement.norm(), 2);
  EXPECT_FALSE(agreement.leftOutStep());
}

TEST(StepAgreementTest, NormsThatAreNoPositiveNumbersAreRefused) {
  for (const double norm : {-1.0, kInfinity, std::nan("")}) {
    EXPECT_THAT(errorOf([&] { StepAgreement(LossScale::fixed(1), norm); }),
                HasSubstr("a positive number"));
  }
}

}  // namespace
}  // namespace pipetrace
