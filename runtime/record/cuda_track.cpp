#include "runtime/record/cuda_track.h"

#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <cstdio>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>

#include "profiler/cuda/runtime.h"
#include "profiler/kernels/cupti_collector.h"
#include "profiler/kernels/nvtx_ranges.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

/// CUPTI takes one collector in a process, for the ranks that are there.
///
/// Threads: any.
class ProcessCollector {
 public:
  static ProcessCollector& get() {
    static ProcessCollector one;
    return one;
  }

  /// Returns the number of a rank's log in the collector, which is there until leave().
  std::pair<std::shared_ptr<CuptiCollector>, int> join(CudaKernelLog& log) {
    const std::lock_guard lock(mutex_);
    if (auto collector = collector_.lock()) return {collector, collector->addLog(log)};
    auto collector = std::make_shared<CuptiCollector>(makeCupti(), log);
    collector_ = collector;
    return {std::move(collector), 0};
  }
  void leave(std::shared_ptr<CuptiCollector> collector, int number) {
    const std::lock_guard lock(mutex_);
    if (collector.use_count() == 1) collector->stop();  // before its last log goes
    collector->removeLog(number);
    collector.reset();
  }

 private:
  std::mutex mutex_;
  std::weak_ptr<CuptiCollector> collector_;
};

class CudaTrack : public JobTrack {
 public:
  explicit CudaTrack(const std::string& logPath) : kernels_(logPath) {
    std::tie(collector_, number_) = ProcessCollector::get().join(kernels_);
  }
  ~CudaTrack() override { ProcessCollector::get().leave(std::move(collector_), number_); }
  CudaTrack(const CudaTrack&) = delete;
  CudaTrack& operator=(const CudaTrack&) = delete;

  void begin(const Job& job) noexcept override {
    ranges_.push(job.kind, job.microBatch);
    collector_->beginJob(job.id, number_);
  }
  void end() noexcept override {
    collector_->endJob();
    ranges_.pop();
  }

 private:
  CudaKernelLog kernels_;
  std::shared_ptr<CuptiCollector> collector_;
  int number_ = 0;
  const NvtxRanges ranges_;
};

/// LibTorch's figures of a device; 0 until it uses the device.
double allocatorBytes(int device, bool reserved) {
  // LibTorch's library for CUDA brings both, once it is loaded.
  if (!c10::impl::hasDeviceGuardImpl(c10::kCUDA)) return 0;
  auto* const allocator = dynamic_cast<c10::DeviceAllocator*>(c10::GetAllocator(c10::kCUDA));
  if (allocator == nullptr || !allocator->initialized()) return 0;
  const auto stats = allocator->getDeviceStats(static_cast<c10::DeviceIndex>(device));
  const auto& figures = reserved ? stats.reserved_bytes : stats.allocated_bytes;
  return static_cast<double>(figures[0].current);  // 0: of all pools together
}

}  // namespace

std::shared_ptr<CudaApi> cudaRuntime() { return makeCudaRuntime(); }

std::unique_ptr<JobTrack> makeCudaTrack(Recorder& recorder, int device, bool countsMemory) {
  const auto cuda = makeCudaRuntime();
  if (!recorder.isOn() || cuda->deviceCount() == 0) return nullptr;
  if (device < 0) device = cuda->currentDevice();
  for (const bool reserved : {false, true}) {
    if (!countsMemory) break;
    recorder.addCounter(reserved ? "cuda_memory_reserved" : "cuda_memory_allocated", "bytes",
                        [device, reserved] { return allocatorBytes(device, reserved); });
  }
  try {
    return std::make_unique<CudaTrack>(recorder.logPath());
  } catch (const Error& error) {
    std::fprintf(stderr, "pipetrace: kernels are not recorded: %s\n", error.what());
    return nullptr;
  }
}

}  // namespace pipetrace
