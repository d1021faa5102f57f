// One line on stderr says that recording is off because nobody has decided about it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>

#include "profiler/pipetrace.h"
#include "profiler/recorder.h"
#include "profiler/switches.h"
#include "profiler/testing/environment.h"

namespace pipetrace {
namespace {

using ::testing::ExitedWithCode;
using ::testing::StrEq;

constexpr const char* kFolder = "a folder that is never made";
constexpr const char* kOffLine =
    "pipetrace: recording is off; set PIPETRACE=1 to record into a folder that is never made, or "
    "PIPETRACE=0 to leave this line out\n";

/// As the documented program in C++ does; `folder` is the program's own.
void openInCpp(const std::string& folder) {
  const Switches switches = Switches::fromEnvironment();
  RecorderOptions options{.logDirectory = folder.empty() ? switches.logDirectory : folder};
  options.isOn = switches.isOn;
  const Recorder recorder(options);
}

void openInC(int enabled, const char* folder) {
  pipetrace_options options;
  pipetrace_options_init(&options);
  options.enabled = enabled;
  options.log_directory = folder;
  pipetrace_recorder* recorder = nullptr;
  pipetrace_open(&options, &recorder);
  pipetrace_close(recorder);
}

class SwitchedOff : public testing::Test {
 protected:
  // The line comes once in a process, so each case has a process of its own.
  SwitchedOff() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }

  static void expectOnStderr(const char* text, const std::function<void()>& open) {
    const auto openTwice = [&] {
      open();
      open();
      std::exit(std::filesystem::exists(kFolder) ? 1 : 0);
    };
    EXPECT_EXIT(openTwice(), ExitedWithCode(0), StrEq(text));
  }

  const Environment clean_;
};

TEST_F(SwitchedOff, AFolderOfTheEnvironmentWithoutASwitchIsReportedOnce) {
  setenv("PIPETRACE_LOG_DIR", kFolder, 1);
  expectOnStderr(kOffLine, [] { openInCpp(""); });
  expectOnStderr(kOffLine, [] { openInC(PIPETRACE_BY_ENVIRONMENT, nullptr); });
}

TEST_F(SwitchedOff, AFolderOfTheProgramWithoutASwitchIsReportedOnce) {
  expectOnStderr(kOffLine, [] { openInCpp(kFolder); });
  expectOnStderr(kOffLine, [] { openInC(PIPETRACE_BY_ENVIRONMENT, kFolder); });
}

TEST_F(SwitchedOff, NothingIsReportedWithoutAFolder) {
  expectOnStderr("", [] { openInCpp(""); });
  expectOnStderr("", [] { openInC(PIPETRACE_BY_ENVIRONMENT, nullptr); });
}

TEST_F(SwitchedOff, NothingIsReportedWhereTheEnvironmentSaysOff) {
  setenv("PIPETRACE_LOG_DIR", kFolder, 1);
  for (const char* name : {"PIPETRACE", "FLAGS_auto_parallel_profiler"}) {
    setenv(name, "0", 1);
    expectOnStderr("", [] { openInCpp(""); });
    expectOnStderr("", [] { openInC(PIPETRACE_BY_ENVIRONMENT, nullptr); });
    unsetenv(name);
  }
}

TEST_F(SwitchedOff, NothingIsReportedWhereTheProgramSaysOff) {
  setenv("PIPETRACE_LOG_DIR", kFolder, 1);
  expectOnStderr("", [] { const Recorder recorder({.logDirectory = kFolder, .isOn = false}); });
  expectOnStderr("", [] { openInC(PIPETRACE_OFF, kFolder); });
}

}  // namespace
}  // namespace pipetrace
