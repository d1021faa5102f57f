#pragma once

#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>

#include <algorithm>
#include <cstdint>
#include <memory>

namespace pipetrace {

/// The bytes that LibTorch's allocators hold of what this thread has allocated since it was made.
/// Tensors that other threads make or free meanwhile do not count.
///
/// Threads: the one that makes it.
class CountedBytes {
 public:
  CountedBytes() = default;

  std::int64_t now() const { return counter_->now; }
  /// The most since forgetMost().
  std::int64_t most() const { return counter_->most; }
  void forgetMost() { counter_->most = counter_->now; }

 private:
  struct Counter : c10::MemoryReportingInfoBase {
    void reportMemoryUsage(void*, std::int64_t size, std::size_t, std::size_t,
                           c10::Device) override {
      now += size;
      most = std::max(most, now);
    }
    bool memoryProfilingEnabled() const override { return true; }

    std::int64_t now = 0;
    std::int64_t most = 0;
  };

  const std::shared_ptr<Counter> counter_ = std::make_shared<Counter>();
  const c10::DebugInfoGuard counting_{c10::DebugInfoKind::PROFILER_STATE, counter_};
};

}  // namespace pipetrace
