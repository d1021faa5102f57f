#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "profiler/kernels/cuda_kernel_log.h"
#include "profiler/kernels/cupti_api.h"
#include "profiler/process/until_fork.h"

namespace pipetrace {

/// Collects the kernels, copies and memsets of this process through CUPTI, and writes each with the
/// job that queued it. Optional: where CUPTI cannot be had (no device, another tool attached), the
/// collector says why, once, and does nothing. Nor does it in a process that is forked meanwhile.
class CuptiCollector {
 public:
  /// How often CUPTI is asked for what is complete; its own period does not do it reliably.
  static constexpr Nanoseconds kFlushEvery = 200 * kNsPerMs;

  /// Starts. `log` must outlive this.
  CuptiCollector(std::shared_ptr<CuptiApi> api, CudaKernelLog& log,
                 Nanoseconds flushEvery = kFlushEvery);
  /// stop().
  ~CuptiCollector();
  CuptiCollector(const CuptiCollector&) = delete;
  CuptiCollector& operator=(const CuptiCollector&) = delete;

  bool isRunning() const noexcept;
  /// Why it is not running.
  const std::string& trouble() const { return trouble_; }

  /// What this thread queues from now on belongs to `job`, until endJob(). On every thread that
  /// queues work of a job, autograd's included. Nothing if not running.
  void beginJob(std::int64_t job) noexcept;
  void endJob() noexcept;

  /// Writes all that has ended and lets go of CUPTI. Call it when the device is done. Says on
  /// stderr, in one line, if something is missing.
  void stop();

  /// Records that CUPTI dropped; final after stop().
  std::int64_t dropped() const { return dropped_; }

 private:
  class Impl;
  UntilFork<Impl> impl_;
  std::string trouble_;
  std::int64_t dropped_ = 0;
};

}  // namespace pipetrace
