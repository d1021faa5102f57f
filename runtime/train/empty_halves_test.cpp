#include "runtime/train/torch_work.h"

#include <gmock/gmock.h>

#include "schedule/build_schedule.h"

namespace pipetrace {
namespace {

TEST(EmptyHalves, APlanThatGetsLongerIsNamedWithItsStages) {
  const std::string note = noteOfEmptyHalves(buildSchedule("V-Min", 4, 8), {0, 5});
  EXPECT_THAT(note,
              ::testing::StartsWith("stage 0, stage 5 have nothing to do in the weight half"));
  EXPECT_THAT(note, ::testing::ContainsRegex("a step of V-Min takes 1\\.[0-9]+ times as long"));
}

TEST(EmptyHalves, APlanThatDoesNotGetLongerNeedsNoNote) {
  EXPECT_EQ(noteOfEmptyHalves(buildSchedule("V-Min", 4, 8), {}), "");
  EXPECT_EQ(noteOfEmptyHalves(buildSchedule("1F1B", 4, 8), {0, 1}), "") << "it has no halves";
  // Two ranks, one micro-batch: F0 F1 I1 W1, and I0 W0 after I1. W1 overlaps I0, so a longer I1
  // moves the end from 5 to 6 ms; a longer I0 moves nothing, as I0 W0 take as long together.
  EXPECT_EQ(noteOfEmptyHalves(buildSchedule("ZB-H1", 2, 1), {0}), "");
  EXPECT_THAT(noteOfEmptyHalves(buildSchedule("ZB-H1", 2, 1), {1}),
              ::testing::HasSubstr("1.20 times"));
}

}  // namespace
}  // namespace pipetrace
