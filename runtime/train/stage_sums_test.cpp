#include "runtime/train/stage_sums.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <gmock/gmock.h>

#include <cmath>

namespace pipetrace {
namespace {

using ::testing::Each;
using ::testing::Eq;
using Tensors = std::vector<at::Tensor>;

constexpr int kStage = 3;

Tensors parameters(double value = 1.5) {
  Tensors all{at::zeros({2, 3}), at::zeros({5}, at::kDouble), at::zeros({3}, at::kBFloat16),
              at::zeros({})};
  for (const at::Tensor& parameter : all) {
    parameter.mutable_grad() = at::full(parameter.sizes(), value, parameter.options());
  }
  return all;
}

/// The parameters of a bucket, from its length alone.
TEST(StageSums, BucketsOfPartsHaveTheParametersOfTheirBlocks) {
  StageSums sums;
  const Tensors all = parameters();
  sums.addStage(kStage, all, {}, {1, 2, 1});
  const auto lengthOf = [&](int number, bool isOfPart) {
    return sums.fill({.stage = kStage, .number = number, .of = 2, .isOfPart = isOfPart}).numel();
  };
  // 16 bytes that say what is there, then each gradient in units of 16: the last block has the
  // scalar, and the two others 24, 40 and 6 bytes.
  EXPECT_EQ(lengthOf(0, true), 16 + 16);
  EXPECT_EQ(lengthOf(1, true), 16 + 32 + 48 + 16);
  // By bytes the first bucket has those from the end up to half of them all.
  EXPECT_EQ(lengthOf(0, false) + lengthOf(1, false), lengthOf(0, true) + lengthOf(1, true));
  EXPECT_NE(lengthOf(0, false), lengthOf(0, true));
}

/// A rank with one stage.
struct Copy {
  explicit Copy(Tensors its, double loss = 0.25) : parameters(std::move(its)) {
    sums.addStage(kStage, parameters,
                  {.take = [loss] { return at::full({}, loss, at::kDouble); },
                   .give = [this](const at::Tensor& sum) { lossOfAll = sum.item<double>(); }});
  }

  Tensors parameters;
  double lossOfAll = 0;
  StageSums sums;
};

/// As ranks do it, each with an equal share of the bucket. Returns the bucket's length.
std::int64_t reduce(const std::vector<Copy*>& copies, const GradientBucket& bucket) {
  Tensors filled;
  for (Copy* const copy : copies) filled.push_back(copy->sums.fill(bucket));
  const std::int64_t units = filled[0].numel() / GradientBuckets::kUnit;
  const auto n = static_cast<std::int64_t>(copies.size());
  Tensors sums;
  for (std::int64_t rank = 0; rank < n; ++rank) {
    const std::int64_t first = units * rank / n * GradientBuckets::kUnit;
    const std::int64_t end = units * (rank + 1) / n * GradientBuckets::kUnit;
    Tensors parts;
    for (const at::Tensor& each : filled) parts.push_back(each.narrow(0, first, end - first));
    sums.push_back(copies[static_cast<std::size_t>(rank)]->sums.addUp(bucket, first, parts));
  }
  for (std::size_t c = 0; c < copies.size(); ++c) {
    std::int64_t first = 0;
    for (const at::Tensor& sum : sums) {
      filled[c].narrow(0, first, sum.numel()).copy_(sum);
      first += sum.numel();
    }
    copies[c]->sums.summed(bucket);
  }
  return filled[0].numel();
}

TEST(StageSumsTest, EachRankHasTheSumsInTheirTypesAndShapesAndThatOfTheLosses) {
  Copy a(parameters(1.5), 0.25);
  Copy b(parameters(2), 0.5);
  Copy c(parameters(-0.25), 1);
  reduce({&a, &b, &c}, {.stage = kStage});
  for (const Copy* const copy : {&a, &b, &c}) {
    EXPECT_EQ(copy->lossOfAll, 1.75);
    for (const at::Tensor& parameter : copy->parameters) {
      EXPECT_TRUE(
          at::equal(parameter.grad(), at::full(parameter.sizes(), 3.25, parameter.options())));
    }
  }
}

TEST(StageSumsTest, TheOrderOfRanksGivesTheBits) {
  const auto sumOf = [](const std::vector<float>& values) {
    std::vector<std::unique_ptr<Copy>> copies;
    std::vector<Copy*> all;
    for (const float value : values) {
      Tensors own{at::zeros({40})};
      own[0].mutable_grad() = at::full({40}, value);
      all.push_back(copies.emplace_back(std::make_unique<Copy>(std::move(own))).get());
    }
    reduce(all, {.stage = kStage});
    return copies.back()->parameters[0].grad();
  };
  const float big = 1e8F;
  EXPECT_TRUE(at::equal(sumOf({big, 3, -big}), at::full({40}, big + 3 - big)));
  EXPECT_TRUE(at::equal(sumOf({big, -big, 3}), at::full({40}, 3.0)));
  ASSERT_NE(big + 3 - big, 3);
}

// 4 bytes a number: doubles would be twice as many.
TEST(StageSumsTest, ABucketIsAsLongAsItsParametersWithAByteForEach) {
  Tensors all{at::zeros({1000, 100}), at::zeros({1000})};
  for (const at::Tensor& parameter : all) parameter.mutable_grad() = at::zeros_like(parameter);
  StageSums sums;
  sums.addStage(0, all, {});
  EXPECT_EQ(sums.fill({.stage = 0}).nbytes(), 4 * 101'000 + 16);
}

TEST(StageSumsTest, GradientsAreViewsOfTheBucketThatOptimizersMayDetach) {
  Copy a(parameters());
  Copy b(parameters());
  const at::Tensor own = a.sums.fill({.stage = kStage});
  for (const at::Tensor& parameter : a.parameters) {
    EXPECT_TRUE(parameter.grad().is_alias_of(own));
    EXPECT_TRUE(at::equal(parameter.grad(), at::full_like(parameter, 1.5)));
  }
  reduce({&a, &b}, {.stage = kStage});
  for (at::Tensor& parameter : a.parameters) {
    EXPECT_TRUE(parameter.grad().is_alias_of(a.parameters[0].grad()));
    EXPECT_FALSE(parameter.grad().is_alias_of(b.parameters[0].grad()));
    parameter.mutable_grad().detach_();
  }
}

TEST(StageSumsTest, AGradientThatNobodyHasStaysAwayAndThatOfOneRankIsTheSum) {
  Copy a(parameters());
  Copy b(parameters());
  for (Copy* const copy : {&a, &b}) copy->parameters[1].mutable_grad() = at::Tensor();
  a.parameters[0].mutable_grad() = at::Tensor();
  b.parameters[3].mutable_grad() = at::Tensor();
  reduce({&a, &b}, {.stage = kStage});
  for (const Copy* const copy : {&a, &b}) {
    EXPECT_FALSE(copy->parameters[1].grad().defined());
    EXPECT_TRUE(at::equal(copy->parameters[0].grad(), at::full({2, 3}, 1.5)));
    EXPECT_TRUE(at::equal(copy->parameters[3].grad(), at::full({}, 1.5)));
    EXPECT_TRUE(at::equal(copy->parameters[2].grad(), at::full({3}, 3, at::kBFloat16)));
  }
}

// -0 + 0 is 0.
TEST(StageSumsTest, AGradientOfOneRankKeepsTheSignOfItsZero) {
  for (const double zero : {0.0, -0.0}) {
    Copy a(parameters(zero));
    Copy b(parameters());
    for (const at::Tensor& parameter : b.parameters) parameter.mutable_grad() = at::Tensor();
    reduce({&a, &b}, {.stage = kStage});
    EXPECT_EQ(std::signbit(b.parameters[0].grad()[0][0].item<float>()), std::signbit(zero));
  }
}

TEST(StageSumsTest, AGradientOfOtherStridesComesBackInOrder) {
  Tensors all{at::zeros({2, 3})};
  const at::Tensor gradient = at::arange(6, at::kFloat).view({3, 2}).t();
  all[0].mutable_grad() = gradient;
  StageSums sums;
  sums.addStage(0, all, {});
  sums.fill({.stage = 0});
  EXPECT_TRUE(at::equal(all[0].grad(), gradient));
}

TEST(StageSumsTest, BucketsAreAboutAsLongAndBeginWithTheLastParameters) {
  Tensors all;
  for (int i = 0; i < 12; ++i) {
    all.push_back(at::zeros({i % 3 == 0 ? 200 : 100}));
    all.back().mutable_grad() = at::full_like(all.back(), i);
  }
  Copy copy(all);
  std::vector<std::int64_t> lengths;
  for (int number = 0; number < 3; ++number) {
    const at::Tensor bytes = copy.sums.fill({.stage = kStage, .number = number, .of = 3});
    lengths.push_back(bytes.numel());
    for (int i = 0; i < 12; ++i) {
      const bool isIn = all[static_cast<std::size_t>(i)].grad().is_alias_of(bytes);
      EXPECT_EQ(isIn, i / 4 == 2 - number) << i << " in " << number;
    }
  }
  // 16 bytes say which are there; the first has the loss, too.
  EXPECT_THAT(lengths, ::testing::ElementsAre(2000 + 32, 2000 + 16, 2400 + 16));
}

TEST(StageSumsTest, MoreBucketsThanParametersLeaveSomeEmpty) {
  Copy a(parameters());
  Copy b(parameters());
  std::vector<std::int64_t> lengths;
  for (int number = 0; number < 6; ++number) {
    lengths.push_back(reduce({&a, &b}, {.stage = kStage, .number = number, .of = 6}));
  }
  EXPECT_EQ(lengths[1], 0);
  for (const at::Tensor& parameter : a.parameters) {
    EXPECT_TRUE(at::equal(parameter.grad(), at::full_like(parameter, 3)));
  }
}

}  // namespace
}  // namespace pipetrace
