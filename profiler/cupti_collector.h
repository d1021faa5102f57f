#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>

#include "profiler/cuda_kernel_log.h"
#include "profiler/cupti_api.h"

namespace pipetrace {

/// Collects the kernels, copies and memsets of this process through CUPTI, and writes each with the
/// job that queued it. Optional: where CUPTI cannot be had (no device, another tool attached), the
/// collector says why, once, and does nothing.
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

  bool isRunning() const noexcept { return isRunning_.load(std::memory_order_relaxed); }
  /// Why it is not running.
  const std::string& trouble() const { return trouble_; }

  /// What this thread queues from now on belongs to `job`, until endJob(). On every thread that
  /// queues work of a job, autograd's included. Nothing if not running.
  void beginJob(std::int64_t job) noexcept {
    if (isRunning()) api_->pushJob(job);
  }
  void endJob() noexcept {
    if (isRunning()) api_->popJob();
  }

  /// Writes all that has ended and lets go of CUPTI. Call it when the device is done.
  void stop();

  /// Records that CUPTI dropped; final after stop().
  std::int64_t dropped() const { return dropped_; }

 private:
  // Of the last calls and the ones before: so many are remembered at least.
  static constexpr std::size_t kCalls = 1U << 18;

  /// An activity whose call is not known yet: buffers of calls and of devices come independently.
  struct Waiting {
    CuptiRecord record;
    std::string name;
    int rounds = 0;
  };

  bool start();
  bool fail(const std::string& what);
  void run();
  void take(const CuptiRecord& record);
  void settle(int rounds);
  std::int64_t jobOf(std::uint32_t correlation) const;
  void write(const CuptiRecord& record, const std::string& name, std::int64_t job);

  const std::shared_ptr<CuptiApi> api_;
  CudaKernelLog& log_;
  const Nanoseconds flushEvery_;
  std::atomic<bool> isRunning_ = false;
  std::string trouble_;
  std::int64_t dropped_ = 0;

  std::mutex records_;  // guards the next two
  std::array<std::unordered_map<std::uint32_t, std::int64_t>, 2> calls_;
  std::deque<Waiting> waiting_;

  std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace pipetrace
