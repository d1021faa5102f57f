#include "profiler/cuda/runtime.h"

#include <cuda_runtime_api.h>

#include <cstring>

#include "profiler/clock/wall_clock.h"

namespace pipetrace {
namespace {

thread_local cudaError_t lastFailure = cudaSuccess;

/// Whether the call succeeded. A failure is noted and cleared in the runtime, or the program would
/// take it for a failure of its own call.
bool worked(cudaError_t result) noexcept {
  if (result == cudaSuccess) return true;
  lastFailure = result;
  cudaGetLastError();
  return false;
}

CudaApi::Status statusOf(cudaError_t result) noexcept {
  return worked(result) ? CudaApi::Status::kOk : CudaApi::Status::kFailed;
}

cudaEvent_t asEvent(CudaApi::Event event) noexcept { return static_cast<cudaEvent_t>(event); }
cudaStream_t asStream(CudaApi::Stream stream) noexcept { return static_cast<cudaStream_t>(stream); }

class CudaRuntime final : public CudaApi {
 public:
  Nanoseconds hostNow() noexcept override { return monotonicNow(); }

  int deviceCount() noexcept override {
    int count = 0;
    return worked(cudaGetDeviceCount(&count)) ? count : 0;
  }
  bool setDevice(int device) noexcept override { return worked(cudaSetDevice(device)); }
  int currentDevice() noexcept override {
    int device = -1;
    return worked(cudaGetDevice(&device)) ? device : -1;
  }

  std::string deviceName(int device) override {
    cudaDeviceProp properties{};
    return worked(cudaGetDeviceProperties(&properties, device)) ? properties.name : "";
  }

  bool deviceUuid(int device, Uuid& uuid) noexcept override {
    cudaDeviceProp properties{};
    if (!worked(cudaGetDeviceProperties(&properties, device))) return false;
    std::memcpy(uuid.data(), properties.uuid.bytes, uuid.size());
    return true;
  }

  Event createEvent() noexcept override {
    cudaEvent_t event = nullptr;
    return worked(cudaEventCreateWithFlags(&event, cudaEventDefault)) ? event : nullptr;
  }
  void destroyEvent(Event event) noexcept override {
    static_cast<void>(worked(cudaEventDestroy(asEvent(event))));
  }
  Stream createStream() noexcept override {
    cudaStream_t stream = nullptr;
    return worked(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking)) ? stream : nullptr;
  }
  void destroyStream(Stream stream) noexcept override {
    static_cast<void>(worked(cudaStreamDestroy(asStream(stream))));
  }

  Status record(Event event, Stream stream) noexcept override {
    cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    if (!worked(cudaStreamIsCapturing(asStream(stream), &capture)) ||
        capture != cudaStreamCaptureStatusNone) {
      return Status::kCapturing;
    }
    return statusOf(cudaEventRecord(asEvent(event), asStream(stream)));
  }
  Status query(Event event) noexcept override {
    const cudaError_t result = cudaEventQuery(asEvent(event));
    if (result != cudaErrorNotReady) return statusOf(result);
    cudaGetLastError();
    return Status::kNotReady;
  }
  Status elapsed(Event from, Event to, float& milliseconds) noexcept override {
    return statusOf(cudaEventElapsedTime(&milliseconds, asEvent(from), asEvent(to)));
  }

  bool exchangeRelaxedCapture(bool relaxed) noexcept override {
    cudaStreamCaptureMode mode =
        relaxed ? cudaStreamCaptureModeRelaxed : cudaStreamCaptureModeGlobal;
    return worked(cudaThreadExchangeStreamCaptureMode(&mode)) &&
           mode == cudaStreamCaptureModeRelaxed;
  }

  std::string lastError() override { return cudaGetErrorString(lastFailure); }
};

}  // namespace

std::shared_ptr<CudaApi> makeCudaRuntime() { return std::make_shared<CudaRuntime>(); }

}  // namespace pipetrace
