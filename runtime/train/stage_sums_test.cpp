#include "runtime/train/stage_sums.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>

namespace pipetrace {
namespace {

using Tensors = std::vector<at::Tensor>;

Tensors parameters() {
  Tensors all{at::zeros({2, 3}), at::zeros({5}, at::kDouble), at::zeros({3}, at::kBFloat16),
              at::zeros({})};
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].mutable_grad() =
        at::full(all[i].sizes(), 1.5 + static_cast<double>(i), all[i].options());
  }
  return all;
}

TEST(StageSumsTest, EachGradientComesBackInItsTypeAndShape) {
  const Tensors all = parameters();
  const at::Tensor packed = StageSums::pack(all, at::full({}, 0.1, at::kDouble));
  EXPECT_EQ(StageSums::lossOf(packed).item<double>(), 0.1);
  const Tensors gradients = StageSums::gradientsOf(packed, all);
  ASSERT_EQ(gradients.size(), all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(gradients[i].scalar_type(), all[i].scalar_type());
    EXPECT_TRUE(at::equal(gradients[i], all[i].grad())) << i;
  }
}

// 4 bytes a number: doubles would be twice as many.
TEST(StageSumsTest, TheyAreAsLongAsTheParameters) {
  const Tensors all{at::zeros({1000, 100}), at::zeros({1000})};
  EXPECT_EQ(StageSums::pack(all, {}).nbytes(), 4 * 101'000 + 16);
}

TEST(StageSumsTest, GradientsThatNobodyMadeAndNoLossAreZero) {
  Tensors all = parameters();
  all[1].mutable_grad() = at::Tensor();
  const at::Tensor packed = StageSums::pack(all, {});
  EXPECT_EQ(StageSums::lossOf(packed).item<double>(), 0);
  EXPECT_TRUE(at::equal(StageSums::gradientsOf(packed, all)[1], at::zeros({5}, at::kDouble)));
}

TEST(StageSumsTest, AGradientOfOtherStridesComesBackInOrder) {
  Tensors all{at::zeros({2, 3})};
  all[0].mutable_grad() = at::arange(6, at::kFloat).view({3, 2}).t();
  const at::Tensor packed = StageSums::pack(all, {});
  EXPECT_TRUE(at::equal(StageSums::gradientsOf(packed, all)[0], all[0].grad()));
}

}  // namespace
}  // namespace pipetrace
