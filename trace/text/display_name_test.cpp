#include "trace/text/display_name.h"

#include <gtest/gtest.h>

#include <utility>

namespace pipetrace {
namespace {

using enum JobKind;

TEST(DisplayNameTest, ShortNamesAreALetterAndTheMicroBatch) {
  for (const auto& [kind, name] : {std::pair(kForward, "F"),
                                   {kBackward, "B"},
                                   {kBackwardInput, "I"},
                                   {kBackwardWeight, "W"},
                                   {kForwardBackward, "FB"},
                                   {kRecompute, "R"}}) {
    Event event{.microBatch = 0, .stage = 0, .kind = kind};
    EXPECT_EQ(shortName(event), name + std::string("0"));
    EXPECT_EQ(actionName(event), "0" + (name + std::string("0")));
    event.microBatch = kNotGiven;
    event.stage = 12;
    EXPECT_EQ(actionName(event), std::string("12") + name);
    event.stage = kNotGiven;
    EXPECT_EQ(actionName(event), name);
  }
}

TEST(DisplayNameTest, OtherJobsHaveNone) {
  const Event event{.microBatch = 1, .stage = 1, .kind = kOptimizer};
  EXPECT_EQ(shortName(event), "");
  EXPECT_EQ(actionName(event), "");
}

}  // namespace
}  // namespace pipetrace
