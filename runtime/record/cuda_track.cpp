#include "runtime/record/cuda_track.h"

#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <cstdio>

#include "profiler/cuda/runtime.h"
#include "profiler/kernels/cupti_collector.h"
#include "profiler/kernels/nvtx_ranges.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

class CudaTrack : public JobTrack {
 public:
  explicit CudaTrack(const std::string& logPath)
      : kernels_(logPath), collector_(makeCupti(), kernels_) {}

  void begin(const Job& job) noexcept override {
    ranges_.push(job.kind, job.microBatch);
    collector_.beginJob(job.id);
  }
  void end() noexcept override {
    collector_.endJob();
    ranges_.pop();
  }

 private:
  CudaKernelLog kernels_;
  CuptiCollector collector_;
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

std::unique_ptr<JobTrack> makeCudaTrack(Recorder& recorder) {
  const auto cuda = makeCudaRuntime();
  if (!recorder.isOn() || cuda->deviceCount() == 0) return nullptr;
  const int device = cuda->currentDevice();
  for (const bool reserved : {false, true}) {
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
