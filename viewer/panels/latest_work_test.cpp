#include "viewer/panels/area_statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <vector>

namespace pipetrace {
namespace {

TEST(LatestWorkTest, TheLatestOfManyIsDone) {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<int> done;
  LatestWork works;
  for (int i = 0; i < 200; ++i) {
    works.start([&, i](const std::atomic<bool>& stop) {
      if (stop) return;
      const std::lock_guard lock(mutex);
      done.push_back(i);
      changed.notify_all();
    });
  }
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return !done.empty() && done.back() == 199; });
  EXPECT_TRUE(std::is_sorted(done.begin(), done.end()));
}

TEST(LatestWorkTest, ANewWorkEndsTheOneThatRuns) {
  std::atomic<bool> isRunning{false};
  std::atomic<bool> wasStopped{false};
  std::atomic<bool> isDone{false};
  LatestWork works;
  works.start([&](const std::atomic<bool>& stop) {
    isRunning = true;
    isRunning.notify_all();
    while (!stop) std::this_thread::yield();
    wasStopped = true;
  });
  isRunning.wait(false);
  works.start([&](const std::atomic<bool>&) {
    isDone = true;
    isDone.notify_all();
  });
  isDone.wait(false);
  EXPECT_TRUE(wasStopped);
}

TEST(LatestWorkTest, AfterAStopNothingRuns) {
  LatestWork works;
  std::int64_t value = 0;  // not atomic: stop() waits
  std::atomic<bool> isRunning{false};
  works.start([&](const std::atomic<bool>& stop) {
    isRunning = true;
    isRunning.notify_all();
    while (!stop) ++value;
  });
  isRunning.wait(false);
  works.stop();
  value = -1;
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(value, -1);
  works.stop();  // there is nothing to stop
}

}  // namespace
}  // namespace pipetrace
