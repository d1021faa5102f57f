#pragma once

#include <cstdint>
#include <memory>

#include "trace/job_kind.h"

namespace pipetrace {

/// Jobs as NVTX ranges of the domain "pipetrace", so that Nsight Systems shows the same jobs beside
/// its own rows (target pipetrace::profiler_cuda). Without such a tool a call costs a nanosecond or
/// two. Any thread; push() and pop() nest on each.
class NvtxRanges {
 public:
  NvtxRanges();
  ~NvtxRanges();
  NvtxRanges(const NvtxRanges&) = delete;
  NvtxRanges& operator=(const NvtxRanges&) = delete;

  void push(JobKind kind, std::int32_t microBatch) const noexcept;
  void pop() const noexcept;

  /// For jobs that end on another thread than they begin on.
  std::uint64_t start(JobKind kind, std::int32_t microBatch) const noexcept;
  void end(std::uint64_t range) const noexcept;

 private:
  struct Names;
  std::unique_ptr<const Names> names_;
};

}  // namespace pipetrace
