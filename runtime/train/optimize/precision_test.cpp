#include "runtime/train/optimize/precision.h"

#include <ATen/autocast_mode.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/randn.h>
#include <gmock/gmock.h>

#include <thread>

#include "runtime/testing/error_of.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using testing::errorOf;
using ::testing::HasSubstr;

TEST(AutocastTest, ProductsHaveItsTypeWhileItLivesAndTheTypeOfTheirFactorsAfterwards) {
  const at::Tensor a = at::randn({3, 3});
  {
    const Autocast autocast(Precision::kBf16, c10::kCPU);
    const at::Tensor product = at::mm(a, a);
    EXPECT_EQ(product.scalar_type(), at::kBFloat16);
    EXPECT_TRUE(product.equal(at::mm(a.to(at::kBFloat16), a.to(at::kBFloat16))));
    {
      const Autocast inner(Precision::kFp16, c10::kCPU);
      EXPECT_EQ(at::mm(a, a).scalar_type(), at::kHalf);
    }
    EXPECT_EQ(at::mm(a, a).scalar_type(), at::kBFloat16);
    const Autocast none(Precision::kFp32, c10::kCPU);
    EXPECT_EQ(at::mm(a, a).scalar_type(), at::kBFloat16) << "fp32 leaves all as it is";
  }
  EXPECT_EQ(at::mm(a, a).scalar_type(), at::kFloat);
  EXPECT_TRUE(at::autocast::is_autocast_cache_enabled());
}

TEST(AutocastTest, OtherThreadsDoNotHaveIt) {
  const Autocast autocast(Precision::kBf16, c10::kCPU);
  at::ScalarType type = at::kBool;
  std::thread([&] { type = at::mm(at::randn({2, 2}), at::randn({2, 2})).scalar_type(); }).join();
  EXPECT_EQ(type, at::kFloat);
}

// With a cache the second product would be that of the first weight.
TEST(AutocastTest, AWeightThatIsSetToAnotherVersionIsCastAgain) {
  const at::Tensor one = at::randn({3, 3});
  at::Tensor weight = at::randn({3, 3}).requires_grad_();
  const at::Tensor other = at::randn({3, 3});
  const Autocast autocast(Precision::kBf16, c10::kCPU);
  at::mm(one, weight);
  weight.set_data(other);
  EXPECT_TRUE(at::mm(one, weight).equal(at::mm(one.to(at::kBFloat16), other.to(at::kBFloat16))));
}

TEST(AutocastTest, DevicesWithoutItAreRefused) {
  EXPECT_NO_THROW(requireAutocast(Precision::kBf16, c10::kCPU));
  EXPECT_NO_THROW(requireAutocast(Precision::kFp16, c10::kCUDA));
  EXPECT_THAT(errorOf([] { requireAutocast(Precision::kBf16, c10::kPrivateUse1); }),
              HasSubstr("they bring no kernels for autocast"));
  EXPECT_THAT(errorOf([] { requireAutocast(Precision::kBf16, c10::kMeta); }),
              HasSubstr("cannot train in mixed precision on meta devices"));
  EXPECT_NO_THROW(requireAutocast(Precision::kFp32, c10::kPrivateUse1));
}

TEST(PrecisionTest, UnknownNamesAreRefused) {
  EXPECT_EQ(precisionOf("fp32"), Precision::kFp32);
  EXPECT_EQ(precisionOf("bf16"), Precision::kBf16);
  EXPECT_EQ(precisionOf("fp16"), Precision::kFp16);
  EXPECT_THROW(precisionOf("fp8"), Error);
}

}  // namespace
}  // namespace pipetrace
