#include "profiler/kernels/cupti_api.h"

#include <cuda_runtime_api.h>
#include <cupti.h>

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <utility>
#include <vector>

#include "profiler/clock/wall_clock.h"

namespace pipetrace {
namespace {

// PyTorch's profiler uses the first two.
constexpr CUpti_ExternalCorrelationKind kOurs = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2;
constexpr std::size_t kBufferSize = std::size_t{4} << 20;
constexpr std::size_t kDeviceBufferSize = std::size_t{8} << 20;

/// CUPTI's callbacks get no context, so their data belongs to the process.
struct Delivery {
  std::mutex mutex;
  CuptiApi::Sink sink;
  std::vector<std::uint8_t*> spare;
  std::atomic<std::int64_t> dropped = 0;
  WallClock clock;
};

Delivery& delivery() {
  static auto* const one = new Delivery;  // CUPTI's threads may outlive static objects
  return *one;
}

CUpti_ActivityKind kindOf(CuptiApi::Activity activity) noexcept {
  switch (activity) {
    case CuptiApi::Activity::kExternalCorrelation: return CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
    case CuptiApi::Activity::kRuntimeCalls: return CUPTI_ACTIVITY_KIND_RUNTIME;
    case CuptiApi::Activity::kDriverCalls: return CUPTI_ACTIVITY_KIND_DRIVER;
    case CuptiApi::Activity::kKernels: return CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    case CuptiApi::Activity::kCopies: return CUPTI_ACTIVITY_KIND_MEMCPY;
    case CuptiApi::Activity::kMemsets: return CUPTI_ACTIVITY_KIND_MEMSET;
  }
  return CUPTI_ACTIVITY_KIND_INVALID;
}

const char* nameOf(std::uint8_t copyKind) noexcept {
  switch (copyKind) {
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD: return "copy host to device";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH: return "copy device to host";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOD: return "copy on device";
    case CUPTI_ACTIVITY_MEMCPY_KIND_PTOP: return "copy between devices";
    default: return "copy";
  }
}

template <typename Activity>
CuptiRecord timed(const Activity& activity, CuptiRecord::Kind kind, const char* name) noexcept {
  return {.kind = kind,
          .correlation = activity.correlationId,
          .stream = activity.streamId,
          .begin = static_cast<Nanoseconds>(activity.start),
          .end = static_cast<Nanoseconds>(activity.end),
          .name = name == nullptr ? "kernel" : name};
}

/// False: it is of no interest.
bool read(const CUpti_Activity& activity, CuptiRecord& record) noexcept {
  const void* const at = &activity;
  switch (activity.kind) {
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION: {
      const auto& made = *static_cast<const CUpti_ActivityExternalCorrelation*>(at);
      record = {.kind = CuptiRecord::Kind::kCorrelation,
                .correlation = made.correlationId,
                .job = static_cast<std::int64_t>(made.externalId)};
      return made.externalKind == kOurs;
    }
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
      const auto& kernel = *static_cast<const CUpti_ActivityKernel10*>(at);
      record = timed(kernel, CuptiRecord::Kind::kKernel, kernel.name);
      return true;
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY: {
      const auto& copy = *static_cast<const CUpti_ActivityMemcpy6*>(at);
      record = timed(copy, CuptiRecord::Kind::kCopy, nameOf(copy.copyKind));
      record.bytes = static_cast<std::int64_t>(copy.bytes);
      return true;
    }
    case CUPTI_ACTIVITY_KIND_MEMSET: {
      const auto& memset = *static_cast<const CUpti_ActivityMemset4*>(at);
      record = timed(memset, CuptiRecord::Kind::kMemset, "memset");
      record.bytes = static_cast<std::int64_t>(memset.bytes);
      return true;
    }
    default: return false;
  }
}

void CUPTIAPI giveBuffer(std::uint8_t** buffer, std::size_t* size, std::size_t* mostRecords) {
  Delivery& to = delivery();
  *buffer = nullptr;
  *mostRecords = 0;
  {
    const std::lock_guard lock(to.mutex);
    if (!to.spare.empty()) {
      *buffer = to.spare.back();
      to.spare.pop_back();
    }
  }
  if (*buffer == nullptr) *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, kBufferSize));
  *size = *buffer == nullptr ? 0 : kBufferSize;
}

void CUPTIAPI takeBuffer(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t,
                         std::size_t valid) {
  Delivery& to = delivery();
  const std::lock_guard lock(to.mutex);
  CUpti_Activity* activity = nullptr;
  while (valid > 0 && cuptiActivityGetNextRecord(buffer, valid, &activity) == CUPTI_SUCCESS) {
    CuptiRecord record;
    if (to.sink && read(*activity, record)) to.sink(record);
  }
  std::size_t dropped = 0;
  if (cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped) == CUPTI_SUCCESS) {
    to.dropped += static_cast<std::int64_t>(dropped);
  }
  if (buffer != nullptr) to.spare.push_back(buffer);
}

std::uint64_t CUPTIAPI now() {
  return static_cast<std::uint64_t>(delivery().clock.at(monotonicNow()));
}

class Cupti final : public CuptiApi {
 public:
  int deviceCount() noexcept override {
    int count = 0;
    const cudaError_t result = cudaGetDeviceCount(&count);
    if (result == cudaSuccess) return count;
    cudaGetLastError();
    error_ = cudaGetErrorString(result);
    return 0;
  }

  bool setUp() noexcept override {
    delivery().clock = WallClock::read();
    std::uint8_t perThread = 1;
    std::size_t size = sizeof perThread;
    // These buffer settings may fail: older drivers lack the first.
    cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER, &size, &perThread);
    std::size_t deviceBuffer = kDeviceBufferSize;
    size = sizeof deviceBuffer;
    cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, &size, &deviceBuffer);
    return worked(cuptiActivityRegisterTimestampCallback(now));
  }

  bool deliverTo(Sink sink) noexcept override {
    {
      const std::lock_guard lock(delivery().mutex);
      delivery().sink = std::move(sink);
      delivery().dropped = 0;
    }
    return worked(cuptiActivityRegisterCallbacks(giveBuffer, takeBuffer));
  }

  bool enable(Activity activity) noexcept override {
    return worked(cuptiActivityEnable(kindOf(activity)));
  }
  void disable(Activity activity) noexcept override { cuptiActivityDisable(kindOf(activity)); }
  bool flush(bool all) noexcept override {
    return worked(cuptiActivityFlushAll(all ? CUPTI_ACTIVITY_FLAG_FLUSH_FORCED : 0));
  }
  void finalize() noexcept override {
    cuptiFinalize();
    const std::lock_guard lock(delivery().mutex);
    delivery().sink = nullptr;
  }

  void pushJob(std::int64_t job) noexcept override {
    cuptiActivityPushExternalCorrelationId(kOurs, static_cast<std::uint64_t>(job));
  }
  void popJob() noexcept override {
    std::uint64_t last = 0;
    cuptiActivityPopExternalCorrelationId(kOurs, &last);
  }

  std::int64_t dropped() noexcept override { return delivery().dropped; }
  std::string lastError() override { return error_; }

 private:
  bool worked(CUptiResult result) noexcept {
    if (result == CUPTI_SUCCESS) return true;
    const char* text = nullptr;
    cuptiGetResultString(result, &text);
    error_ = text == nullptr ? "unknown error" : text;
    return false;
  }

  const char* error_ = "no error";
};

}  // namespace

std::shared_ptr<CuptiApi> makeCupti() { return std::make_shared<Cupti>(); }

}  // namespace pipetrace
