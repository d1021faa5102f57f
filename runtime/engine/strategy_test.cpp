#include "runtime/engine/strategy.h"

#include <gmock/gmock.h>

#include "runtime/testing/error_of.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using ::testing::HasSubstr;

TEST(Strategy, OptionsHaveTheirNamesAndThoseOfPaddlePaddle) {
  Strategy strategy;
  setOption(strategy, "schedule_mode", "VPP");
  EXPECT_EQ(strategy.plan.schedule, "Interleaved1F1B");
  setOption(strategy, "schedule_mode", "FThenB");
  EXPECT_EQ(strategy.plan.schedule, "FThenB");
  setOption(strategy, "accumulate_steps", "12");
  EXPECT_EQ(strategy.plan.microBatches, 12);
  setOption(strategy, "enable_send_recv_overlap", "False");
  EXPECT_FALSE(strategy.overlaps);
  setOption(strategy, "precision", "bf16");
  setOption(strategy, "clip_grad_norm", "1.5");
  EXPECT_EQ(strategy.precision, Precision::kBf16);
  EXPECT_EQ(strategy.clipNorm, 1.5);
  setOption(strategy, "gradient_scale", "true");
  setOption(strategy, "auto_mode", "semi");
  setOption(strategy, "stages", "5");
  EXPECT_EQ(strategy.plan.ranks, 5);
}

TEST(Strategy, WrongOptionsAreNamedWithWhatIsWrong) {
  const auto errorOf = [](const char* name, const char* value) {
    Strategy strategy;
    return testing::errorOf([&] { setOption(strategy, name, value); });
  };
  EXPECT_THAT(errorOf("schedul", "1F1B"), HasSubstr("no option schedul; it has accumulate_steps"));
  EXPECT_THAT(errorOf("dp", "two"), HasSubstr("dp = two: "));
  EXPECT_THAT(errorOf("dp", "0"), HasSubstr("from 1 on"));
  EXPECT_THAT(errorOf("recompute_ratio", "1.5"), HasSubstr("recompute_ratio = 1.5"));
  EXPECT_THAT(errorOf("auto_mode", "full"), HasSubstr("`partition`"));
  EXPECT_THAT(errorOf("gradient_scale", "false"), HasSubstr("the mean over all rows"));
  EXPECT_THAT(errorOf("enable_send_recv_overlap", "maybe"), HasSubstr("neither true nor false"));
}

TEST(Strategy, TheErrorOfANumberThatIsTooLargeHasTheLargest) {
  Strategy strategy;
  EXPECT_THAT(testing::errorOf([&] { setOption(strategy, "recompute_ratio", "2"); }),
              HasSubstr("it is no number from 0 to 1"));
  EXPECT_THAT(testing::errorOf([&] { setOption(strategy, "ranks", "0"); }),
              HasSubstr("it is no number from 1 on"));
}

}  // namespace
}  // namespace pipetrace
