// The executor starts no threads, allocates nothing, and hands each message over once.
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "profiler/testing/recorded_log.h"
#include "runtime/executor.h"
#include "runtime/record/rank_recording.h"
#include "runtime/rehearse/chain_work.h"
#include "runtime/testing/count_allocations.h"
#include "runtime/testing/run_ranks.h"
#include "runtime/transport/in_process.h"
#include "schedule/build_schedule.h"

namespace pipetrace {
namespace {

// Stages that do nothing.
class NoWork : public ChainWork {
 public:
  void lr(int) override {}
  Message forward(int, int, Message) override { return {}; }
  Message backward(int, int, Message) override { return {}; }
  void optimizerStep() override {}
};

std::int64_t messagesIn(const Plan& plan) {
  std::int64_t count = 0;
  for (int stage = 0; stage + 1 < plan.numStages; ++stage) {
    for (int mb = 0; mb < plan.numMicroBatches; ++mb) {
      if (plan.rankOf(stage, mb) != plan.rankOf(stage + 1, mb)) count += 2;
    }
  }
  return count;
}

class ExecutorCostTest : public ::testing::TestWithParam<std::string> {};

TEST_P(ExecutorCostTest, AMessageIsHandedOverOnceAndNothingIsAllocatedOrStarted) {
  constexpr int kRanks = 4;
  constexpr int kSteps = 6;
  const CheckedPlan plan = buildSchedule(GetParam(), kRanks, 8);
  InProcessHub hub(kRanks);
  const RecordedLog log;
  std::atomic<int> ready = 0;
  std::atomic<std::ptrdiff_t> threads = 0;
  const auto countThreads = [] {
    const std::filesystem::directory_iterator tasks("/proc/self/task");
    return std::distance(begin(tasks), end(tasks));
  };
  const auto before = countThreads();
  const auto errors = testing::runRanks(kRanks, [&](int rank) {
    const auto transport = hub.connect(rank);
    Recorder recorder({.logDirectory = log.folder(), .info = rankInfoOf(*plan, rank)});
    NoWork work;
    {
      Executor executor(plan, work, *transport, addCpuStreams(recorder));
      executor.runStep(0);
      const std::int64_t allocated = testing::allocationsOfThread();
      for (int step = 1; step < kSteps; ++step) executor.runStep(step);
      EXPECT_EQ(testing::allocationsOfThread(), allocated);
      ++ready;
      while (ready < kRanks) std::this_thread::yield();
      if (rank == 0) threads = countThreads();
      executor.finish();
    }
    recorder.close();
  });
  for (const std::string& error : errors) EXPECT_EQ(error, "");
  EXPECT_EQ(hub.handOvers(), kSteps * messagesIn(*plan));
  EXPECT_EQ(threads, before + 2 * kRanks) << "the ranks and the recorders' log threads";
}

INSTANTIATE_TEST_SUITE_P(All, ExecutorCostTest,
                         ::testing::Values("1F1B", "Interleaved1F1B", "ZBV", "DualPipe"),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace pipetrace
