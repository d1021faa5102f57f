#include "profiler/switches.h"

#include <gmock/gmock.h>

#include "profiler/testing/environment.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using testing::HasSubstr;

Switches with(const std::map<std::string, std::string>& variables) {
  const Environment clean;
  for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
  return Switches::fromEnvironment();
}

std::string errorOf(const std::map<std::string, std::string>& variables) {
  try {
    with(variables);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(SwitchesTest, RecordingIsOffUnlessItIsSwitchedOn) {
  EXPECT_FALSE(with({}).isOn);
  EXPECT_FALSE(with({}).isOn.isDecided());
  EXPECT_TRUE(with({{"PIPETRACE", "0"}}).isOn.isDecided());
  EXPECT_TRUE(with({{"FLAGS_auto_parallel_profiler", "0"}}).isOn.isDecided());
  EXPECT_FALSE(with({{"PIPETRACE", ""}}).isOn);
  for (const char* yes : {"1", "on", "true", "TRUE", "yes"}) {
    EXPECT_TRUE(with({{"PIPETRACE", yes}}).isOn) << yes;
  }
  for (const char* no : {"0", "off", "False", "no"}) {
    EXPECT_FALSE(with({{"PIPETRACE", no}}).isOn) << no;
  }
}

TEST(SwitchesTest, PaddlePaddlesSwitchCountsWhereOursIsNotSet) {
  EXPECT_TRUE(with({{"FLAGS_auto_parallel_profiler", "1"}}).isOn);
  EXPECT_TRUE(with({{"FLAGS_auto_parallel_profiler", "true"}}).isOn);
  EXPECT_FALSE(with({{"FLAGS_auto_parallel_profiler", "0"}}).isOn);
  EXPECT_FALSE(with({{"FLAGS_auto_parallel_profiler", "1"}, {"PIPETRACE", "0"}}).isOn);
  EXPECT_TRUE(with({{"FLAGS_auto_parallel_profiler", "0"}, {"PIPETRACE", "1"}}).isOn);
}

TEST(SwitchesTest, BelowVerbosityZeroPaddlePaddleWritesNoJobs) {
  const std::string flag = "FLAGS_auto_parallel_profiler";
  EXPECT_TRUE(with({{flag, "1"}, {"GLOG_v", "0"}}).isOn);
  EXPECT_TRUE(with({{flag, "1"}, {"GLOG_v", "4"}}).isOn);
  EXPECT_FALSE(with({{flag, "1"}, {"GLOG_v", "-1"}}).isOn);
  EXPECT_TRUE(with({{"PIPETRACE", "1"}, {"GLOG_v", "-1"}}).isOn);
  EXPECT_FALSE(with({{"GLOG_v", "4"}}).isOn) << "verbosity alone switches nothing on";
}

TEST(SwitchesTest, RangesOfStepsAreHalfOpenAsInPaddlePaddle) {
  const auto recorded = [](const char* text) {
    std::string steps;
    const StepRange range = with({{"PIPETRACE_STEPS", text}}).steps;
    for (int step = 0; step < 9; ++step) {
      if (range.contains(step)) steps += std::to_string(step);
    }
    return steps;
  };
  EXPECT_EQ(recorded("3:6"), "345");
  EXPECT_EQ(recorded("5:3"), "");
  EXPECT_EQ(recorded("3:3"), "");
  EXPECT_EQ(recorded("7:"), "78");
  EXPECT_EQ(recorded(":2"), "01");
  EXPECT_EQ(recorded("2"), "2");
  EXPECT_EQ(recorded("9"), "");
  EXPECT_EQ(recorded("::4"), "048");
  EXPECT_EQ(recorded("2::3"), "258");
  EXPECT_EQ(recorded("1:8:6"), "17");
  EXPECT_EQ(recorded(":8:1"), "01234567");
  EXPECT_EQ(with({}).steps, StepRange());
}

TEST(SwitchesTest, AValueWithoutAMeaningIsRefusedWithTheVariablesName) {
  EXPECT_THAT(errorOf({{"PIPETRACE", "maybe"}}), HasSubstr("PIPETRACE is \"maybe\""));
  for (const char* steps :
       {"-1", "3-6", "a:6", "3:6:9:1", "3:6:0", "3:6:x", "3:6:", "::", ":", "-1:2", "x"}) {
    EXPECT_THAT(errorOf({{"PIPETRACE_STEPS", steps}}), HasSubstr("PIPETRACE_STEPS")) << steps;
  }
  EXPECT_THAT(errorOf({{"PIPETRACE_STEPS", "-1:2"}}), HasSubstr("count from 0"));
  EXPECT_THAT(errorOf({{"PIPETRACE_STEPS", "0:99999999999"}}), HasSubstr("up to 2147483646"));
  EXPECT_THAT(errorOf({{"PIPETRACE_STEPS", "2147483647"}}), HasSubstr("up to 2147483646"));
  EXPECT_THAT(errorOf({{"FLAGS_auto_parallel_profiler", "1"}, {"GLOG_v", "x"}}),
              HasSubstr("GLOG_v"));
}

TEST(SwitchesTest, TheLogFolderIsReadFromTheEnvironment) {
  EXPECT_EQ(with({{"PIPETRACE_LOG_DIR", "/a b"}}).logDirectory, "/a b");
  EXPECT_EQ(with({}).logDirectory, "");
}

}  // namespace
}  // namespace pipetrace
