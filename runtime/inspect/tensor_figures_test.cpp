#include "runtime/inspect/step_inspection.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace pipetrace {
namespace {

/// Mean, deviation, least, greatest.
std::vector<double> figuresByHand(const at::Tensor& tensor) {
  const at::Tensor figures = queueFigures(tensor);
  EXPECT_EQ(figures.scalar_type(), at::kDouble);
  const double* const first = figures.const_data_ptr<double>();
  return {first, first + figures.numel()};
}

const std::vector<double> kFourNumbers{1, 2, 3, 6};

// The mean is 3, and (4 + 1 + 0 + 9) / 4 = 3.5 the mean of the squares of what is off it.
TEST(TensorFiguresTest, FourNumbersHaveTheFiguresThatOneFindsByHand) {
  for (const auto type : {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16, at::kLong}) {
    const std::vector<double> figures =
        figuresByHand(at::tensor(kFourNumbers).reshape({2, 2}).to(type));
    EXPECT_EQ(figures[0], 3) << type;
    EXPECT_NEAR(figures[1], std::sqrt(3.5), 1e-6) << type;
    EXPECT_EQ(figures[2], 1) << type;
    EXPECT_EQ(figures[3], 6) << type;
  }
}

TEST(TensorFiguresTest, AMaskHasTheShareOfItsOnes) {
  EXPECT_EQ(figuresByHand(at::tensor({1, 0, 0, 1, 1, 0, 0, 1}).to(at::kBool)),
            (std::vector<double>{0.5, 0.5, 0, 1}));
}

TEST(TensorFiguresTest, SumsOfHalfNumbersDoNotOverflow) {
  const std::vector<double> figures = figuresByHand(at::full({4096}, 60'000.0, at::kHalf));
  EXPECT_EQ(figures, (std::vector<double>{60'000, 0, 60'000, 60'000}));
}

TEST(TensorFiguresTest, OneNumberHasNoDeviation) {
  EXPECT_EQ(figuresByHand(at::tensor(7.0)), (std::vector<double>{7, 0, 7, 7}));
}

TEST(TensorFiguresTest, AnElementThatIsNoNumberShowsInAllFigures) {
  for (const double figure :
       figuresByHand(at::tensor({1.0, std::numeric_limits<double>::quiet_NaN(), 2.0}))) {
    EXPECT_TRUE(std::isnan(figure));
  }
}

TEST(TensorFiguresTest, NothingAndComplexNumbersHaveNone) {
  EXPECT_FALSE(queueFigures(at::empty({0, 3})).defined());
  EXPECT_FALSE(queueFigures(at::Tensor()).defined());
  EXPECT_FALSE(queueFigures(at::zeros({2}, at::kComplexFloat)).defined());
}

TEST(TensorFiguresTest, ANormIsTheRootOfTheSquaresEvenWhereTheyAreNoFloats) {
  EXPECT_EQ(queueNorm(at::tensor({3.0, 4.0}).to(at::kFloat)).item<double>(), 5);
  EXPECT_NEAR(queueNorm(at::tensor({3e30, 4e30}).to(at::kFloat)).item<double>() / 5e30, 1, 1e-6);
}

}  // namespace
}  // namespace pipetrace
