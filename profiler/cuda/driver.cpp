#include "profiler/cuda/driver.h"

#include <dlfcn.h>

#include <atomic>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "profiler/clock/wall_clock.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

// The types that cuda.h calls CUresult, CUdevice and so on, and those of its values that are used
// here. The driver's binary interface does not change.
using Result = int;
using Device = int;
using Handle = void*;
constexpr Result kSuccess = 0;
constexpr Result kInvalidContext = 201;
constexpr Result kNotReady = 600;
constexpr unsigned kDefaultEvent = 0;
constexpr unsigned kNonBlockingStream = 1;
constexpr int kNotCapturing = 0;
constexpr int kGlobalCapture = 0;
constexpr int kRelaxedCapture = 2;

/// currentDevice() returns it for a thread without a context; setDevice() with it takes the context
/// away again.
constexpr int kNoDevice = std::numeric_limits<int>::max();

/// The driver's functions.
struct Driver {
  Result (*init)(unsigned flags);
  Result (*deviceGetCount)(int* count);
  Result (*deviceGet)(Device* device, int ordinal);
  Result (*deviceGetUuid)(unsigned char* uuid, Device device);
  Result (*primaryContextRetain)(Handle* context, Device device);
  Result (*contextSetCurrent)(Handle context);
  Result (*contextGetDevice)(Device* device);
  Result (*eventCreate)(Handle* event, unsigned flags);
  Result (*eventDestroy)(Handle event);
  Result (*eventRecord)(Handle event, Handle stream);
  Result (*eventQuery)(Handle event);
  Result (*eventElapsedTime)(float* milliseconds, Handle from, Handle to);
  Result (*streamCreate)(Handle* stream, unsigned flags);
  Result (*streamDestroy)(Handle stream);
  Result (*streamIsCapturing)(Handle stream, int* status);
  Result (*exchangeCaptureMode)(int* mode);
  Result (*getErrorString)(Result result, const char** text);
};

template <typename Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr) {
    throw Error(std::string("cannot record CUDA streams: the driver has no ") + name +
                "; it is older than CUDA 11: update it");
  }
}

Driver load() {
  // Never closed: the program may be using it.
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    throw Error(std::string("cannot record CUDA streams: there is no driver (") + dlerror() +
                "); on such a machine record streams of the CPU");
  }
  Driver driver{};
  find(library, "cuInit", driver.init);
  find(library, "cuDeviceGetCount", driver.deviceGetCount);
  find(library, "cuDeviceGet", driver.deviceGet);
  find(library, "cuDeviceGetUuid", driver.deviceGetUuid);
  find(library, "cuDevicePrimaryCtxRetain", driver.primaryContextRetain);
  find(library, "cuCtxSetCurrent", driver.contextSetCurrent);
  find(library, "cuCtxGetDevice", driver.contextGetDevice);
  find(library, "cuEventCreate", driver.eventCreate);
  find(library, "cuEventDestroy_v2", driver.eventDestroy);
  find(library, "cuEventRecord", driver.eventRecord);
  find(library, "cuEventQuery", driver.eventQuery);
  find(library, "cuEventElapsedTime", driver.eventElapsedTime);
  find(library, "cuStreamCreate", driver.streamCreate);
  find(library, "cuStreamDestroy_v2", driver.streamDestroy);
  find(library, "cuStreamIsCapturing", driver.streamIsCapturing);
  find(library, "cuThreadExchangeStreamCaptureMode", driver.exchangeCaptureMode);
  find(library, "cuGetErrorString", driver.getErrorString);
  return driver;
}

thread_local Result lastFailure = kSuccess;

bool worked(Result result) noexcept {
  if (result != kSuccess) lastFailure = result;
  return result == kSuccess;
}

CudaApi::Status statusOf(Result result) noexcept {
  return worked(result) ? CudaApi::Status::kOk : CudaApi::Status::kFailed;
}

class CudaDriver final : public CudaApi {
 public:
  explicit CudaDriver(const Driver& driver) : driver_(driver) {
    int count = 0;
    if (!worked(driver_.init(0)) || !worked(driver_.deviceGetCount(&count))) return;
    contexts_ = std::vector<std::atomic<Handle>>(static_cast<std::size_t>(count));
  }

  Nanoseconds hostNow() noexcept override { return monotonicNow(); }

  int deviceCount() noexcept override { return static_cast<int>(contexts_.size()); }
  bool setDevice(int device) noexcept override {
    if (device == kNoDevice) return worked(driver_.contextSetCurrent(nullptr));
    if (device < 0 || device >= deviceCount()) return false;
    // Never released: the program may have come to rely on it.
    std::atomic<Handle>& known = contexts_[static_cast<std::size_t>(device)];
    Handle context = known.load(std::memory_order_relaxed);
    if (context == nullptr) {
      Device handle = 0;
      if (!worked(driver_.deviceGet(&handle, device)) ||
          !worked(driver_.primaryContextRetain(&context, handle))) {
        return false;
      }
      known.store(context, std::memory_order_relaxed);
    }
    return worked(driver_.contextSetCurrent(context));
  }
  int currentDevice() noexcept override {
    Device device = -1;
    const Result result = driver_.contextGetDevice(&device);
    if (result == kInvalidContext) return kNoDevice;
    return worked(result) ? device : -1;
  }

  bool deviceUuid(int device, Uuid& uuid) noexcept override {
    Device handle = 0;
    return worked(driver_.deviceGet(&handle, device)) &&
           worked(driver_.deviceGetUuid(uuid.data(), handle));
  }

  Event createEvent() noexcept override {
    Handle event = nullptr;
    return worked(driver_.eventCreate(&event, kDefaultEvent)) ? event : nullptr;
  }
  void destroyEvent(Event event) noexcept override {
    static_cast<void>(worked(driver_.eventDestroy(event)));
  }
  Stream createStream() noexcept override {
    Handle stream = nullptr;
    return worked(driver_.streamCreate(&stream, kNonBlockingStream)) ? stream : nullptr;
  }
  void destroyStream(Stream stream) noexcept override {
    static_cast<void>(worked(driver_.streamDestroy(stream)));
  }

  Status record(Event event, Stream stream) noexcept override {
    int capture = kNotCapturing;
    if (!worked(driver_.streamIsCapturing(stream, &capture)) || capture != kNotCapturing) {
      return Status::kCapturing;
    }
    return statusOf(driver_.eventRecord(event, stream));
  }
  Status query(Event event) noexcept override {
    const Result result = driver_.eventQuery(event);
    return result == kNotReady ? Status::kNotReady : statusOf(result);
  }
  Status elapsed(Event from, Event to, float& milliseconds) noexcept override {
    return statusOf(driver_.eventElapsedTime(&milliseconds, from, to));
  }

  bool exchangeRelaxedCapture(bool relaxed) noexcept override {
    int mode = relaxed ? kRelaxedCapture : kGlobalCapture;
    return worked(driver_.exchangeCaptureMode(&mode)) && mode == kRelaxedCapture;
  }

  std::string lastError() override {
    const char* text = nullptr;
    const bool isKnown = driver_.getErrorString(lastFailure, &text) == kSuccess && text != nullptr;
    return isKnown ? text : "error " + std::to_string(lastFailure);
  }

 private:
  const Driver driver_;
  std::vector<std::atomic<Handle>> contexts_;  // by device; null: not asked for yet
};

}  // namespace

std::shared_ptr<CudaApi> makeCudaDriver() { return std::make_shared<CudaDriver>(load()); }

}  // namespace pipetrace
