#pragma once

#include <ATen/Parallel.h>
#include <c10/core/AutogradState.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <gmock/gmock.h>

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <queue>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/testing/device/test_device.h"

namespace pipetrace::testing {

/// Each test begins and ends with a device that knows nothing. Backward passes stay on the calling
/// thread, as in the runtime.
class DeviceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    installTestDevice();
    resetTestDevice();
    at::set_num_threads(1);
    c10::AutogradState::get_tls_state().set_multithreading_enabled(false);
  }
  void TearDown() override { resetTestDevice(); }
};

/// Each test ends without a finding.
class FaultlessDeviceTest : public DeviceTest {
 protected:
  void TearDown() override {
    EXPECT_THAT(takeTestDeviceFindings(), ::testing::IsEmpty());
    DeviceTest::TearDown();
  }
};

inline c10::TensorOptions onTestDevice(int index = 0) {
  return c10::TensorOptions().device(testDevice(index));
}

/// Makes `later` wait for what is enqueued on `earlier`.
inline void makeWait(c10::Stream later, c10::Stream earlier) {
  c10::Event event(c10::kPrivateUse1);
  event.record(earlier);
  event.block(later);
}

/// A queue between two threads, which carries what the sender knows.
template <typename Item>
class TokenQueue {
 public:
  void push(Item item) {
    const std::lock_guard lock(mutex_);
    items_.emplace(std::move(item), HostToken::release());
    added_.notify_one();
  }
  Item pop() {
    std::unique_lock lock(mutex_);
    added_.wait(lock, [&] { return !items_.empty(); });
    auto [item, token] = std::move(items_.front());
    items_.pop();
    token.acquire();
    return std::move(item);
  }

 private:
  std::mutex mutex_;
  std::condition_variable added_;
  std::queue<std::pair<Item, HostToken>> items_;
};

/// A thread that runs one task at a time, while the caller waits. It learns nothing from that: the
/// device does not see it.
class Worker {
 public:
  ~Worker() { run({}); }

  void run(std::function<void()> task) {
    std::unique_lock lock(mutex_);
    task_ = std::move(task);
    changed_.notify_one();
    changed_.wait(lock, [&] { return !task_; });
  }

 private:
  void loop() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return task_.has_value(); });
      const bool isLast = !*task_;
      if (!isLast) (*task_)();
      task_.reset();
      changed_.notify_one();
      if (isLast) return;
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<std::function<void()>> task_;
  std::jthread thread_{[this] { loop(); }};
};

}  // namespace pipetrace::testing
