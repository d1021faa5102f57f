#include "runtime/engine/engine_main.h"

#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "samples/gpipe_mlp/mlp_task.h"
#include "samples/run_sample.h"
#include "samples/sample_task.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

using ::testing::HasSubstr;

// An at::Tensor operation that fails says where in LibTorch it did, with a backtrace.
TEST(SampleMainTest, ErrorsOfLibTorchAreShownWithoutBacktrace) {
  ::testing::internal::CaptureStderr();
  const int code = engineMain([](StopSignal&) { at::ones({2, 3}).mm(at::ones({2, 3})); });
  const std::string text = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(code, 2);
  EXPECT_THAT(text, HasSubstr("error: mat1 and mat2"));
  EXPECT_LT(text.size(), 200U) << text;
}

// A launcher stops the other ranks when one has failed, while they still have to say why.
TEST(SampleMainDeathTest, ASignalThatComesAfterARunHasFailedTakesNoErrorAway) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto makeTask = [] {
    SampleTask task = makeMlpTask();
    task.model.loss = [](const Tensors&) -> at::Tensor { throw Error("the loss is gone"); };
    return task;
  };
  const auto body = [&](StopSignal& stop) {
    try {
      runSample({.steps = 3}, makeTask, stop);
    } catch (const Error&) {
      kill(getpid(), SIGTERM);
      while (stop.received() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      throw;
    }
  };
  EXPECT_EXIT(std::exit(engineMain(body)), ::testing::ExitedWithCode(128 + SIGTERM),
              "error: .*the loss is gone");
}

}  // namespace
}  // namespace pipetrace
