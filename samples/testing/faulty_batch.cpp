#include "samples/testing/faulty_batch.h"

#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <memory>
#include <thread>
#include <utility>

#include "samples/testing/memory_limit.h"

namespace pipetrace {
namespace {

/// A batch of that many equal rows, which takes the memory of one.
Batch longBatch(std::int64_t rows) {
  return {{"inputs", at::ones({1, 10}).expand({rows, 10})},
          {"targets", at::zeros({1}, at::kLong).expand({rows})}};
}

// The first caller of a process that has several ranks.
bool isFirstCall(std::atomic<bool>& wasCalled) { return !wasCalled.exchange(true); }

}  // namespace

BatchFunction faultyBatches(const PlannedFault& fault, BatchFunction usual, double seconds) {
  const auto hasHappened = std::make_shared<std::atomic<bool>>(false);
  return [=, usual = std::move(usual)](int step, int replica) {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    const bool isNow = fault.isHere() && step == fault.step;
    if (fault.kind.starts_with("block-") && isNow && isFirstCall(*hasHappened)) {
      markFault();
      for (;;) pause();
    }
    if (fault.kind == "block-and-die" && !fault.isHere() && step == fault.step - 1) {
      std::this_thread::sleep_for(std::chrono::seconds(2));
      raise(SIGKILL);
    }
    if (fault.kind == "limit-memory" && step >= fault.step) {
      if (isNow) limitMemory();
      return longBatch(5 << 20);  // 79 MB a message: more than an arena of malloc has in reserve
    }
    return usual(step, replica);
  };
}

}  // namespace pipetrace
