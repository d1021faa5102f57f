#include "runtime/starting_ranks/stop_signal.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <future>
#include <thread>

namespace pipetrace {
namespace {

constexpr auto kLong = std::chrono::seconds(20);

// GoogleTest runs death tests first: threads that other tests leave would take the signal.
TEST(StopSignalDeathTest, TheFirstSignalCallsTheCallback) {
  StopSignal stop;
  std::promise<std::string> reason;
  stop.onStop([&](const std::string& text) { reason.set_value(text); });
  EXPECT_EQ(stop.received(), 0);
  kill(getpid(), SIGINT);
  auto future = reason.get_future();
  ASSERT_EQ(future.wait_for(kLong), std::future_status::ready);
  EXPECT_EQ(future.get(), "stopped by SIGINT");
  EXPECT_EQ(stop.received(), SIGINT);
}

TEST(StopSignalDeathTest, AHangUpIsAStopUnlessItIsIgnored) {
  const auto hangUp = [](bool isIgnored) {
    if (isIgnored) std::signal(SIGHUP, SIG_IGN);
    StopSignal stop;
    stop.onStop([](const std::string& text) { _exit(text == "stopped by SIGHUP" ? 3 : 4); });
    kill(getpid(), SIGHUP);
    std::this_thread::sleep_for(isIgnored ? std::chrono::milliseconds(200) : kLong);
    _exit(0);
  };
  EXPECT_EXIT(hangUp(false), ::testing::ExitedWithCode(3), "");
  EXPECT_EXIT(hangUp(true), ::testing::ExitedWithCode(0), "");
}

TEST(StopSignalDeathTest, TheSecondSignalEndsTheProgram) {
  const auto killTwice = [] {
    StopSignal stop;
    std::promise<void> called;
    stop.onStop([&](const std::string&) { called.set_value(); });
    kill(getpid(), SIGTERM);
    called.get_future().wait();
    kill(getpid(), SIGTERM);
    std::this_thread::sleep_for(kLong);
  };
  EXPECT_EXIT(killTwice(), ::testing::KilledBySignal(SIGTERM), "");
}

TEST(StopSignalDeathTest, ASignalWithoutACallbackEndsTheProgram) {
  const auto killUnasked = [] {
    StopSignal stop;
    stop.onStop([](const std::string&) {});
    stop.onStop({});
    kill(getpid(), SIGINT);
    std::this_thread::sleep_for(kLong);
  };
  EXPECT_EXIT(killUnasked(), ::testing::KilledBySignal(SIGINT), "");
}

}  // namespace
}  // namespace pipetrace
