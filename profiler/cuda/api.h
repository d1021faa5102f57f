#pragma once

#include <array>
#include <string>

#include "trace/nanoseconds.h"

namespace pipetrace {

/// The few calls of the CUDA runtime that recording needs, and the host's clock. Tests put a
/// made-up device in their place. makeCudaRuntime() makes the real one.
///
/// No call throws. A call that fails leaves no error behind for the program's own
/// cudaGetLastError(). Calls act on the calling thread's current device, as CUDA's do. Any thread.
class CudaApi {
 public:
  using Event = void*;   ///< a cudaEvent_t
  using Stream = void*;  ///< a cudaStream_t; null: the legacy default stream

  using Uuid = std::array<unsigned char, 16>;

  enum class Status { kOk, kNotReady, kCapturing, kFailed };

  virtual ~CudaApi() = default;

  /// The host's clock: CLOCK_MONOTONIC, ns.
  virtual Nanoseconds hostNow() noexcept = 0;

  /// 0 as well when there is no driver.
  virtual int deviceCount() noexcept = 0;
  virtual bool setDevice(int device) noexcept = 0;
  /// -1: not known.
  virtual int currentDevice() noexcept = 0;

  /// "NVIDIA H200"; empty: not known.
  virtual std::string deviceName(int /*device*/) { return {}; }

  /// False: not known. It has no context made, and may take a millisecond.
  virtual bool deviceUuid(int /*device*/, Uuid& /*uuid*/) noexcept { return false; }

  /// An event with timing on the current device; null: it could not be made.
  virtual Event createEvent() noexcept = 0;
  virtual void destroyEvent(Event event) noexcept = 0;
  /// A stream that does not wait for the default stream; null: it could not be made.
  virtual Stream createStream() noexcept = 0;
  virtual void destroyStream(Stream stream) noexcept = 0;

  /// kCapturing: the stream's work is going into a graph instead of to the device, or that is not
  /// known. Then nothing was recorded: the event would be part of the graph, and a query of it
  /// would spoil the capture.
  virtual Status record(Event event, Stream stream) noexcept = 0;
  /// kNotReady: the device has not come to it yet. Never waits.
  virtual Status query(Event event) noexcept = 0;
  /// Milliseconds of the device's clock from `from` to `to`, both done; negative if `to` was first.
  /// A float, so its step grows with it: 0.12 us at 2 s.
  virtual Status elapsed(Event from, Event to, float& milliseconds) noexcept = 0;

  /// The calling thread may (true) or may not make calls that could disturb another thread's graph
  /// capture. Returns what it was before; threads begin with false.
  virtual bool exchangeRelaxedCapture(bool relaxed) noexcept = 0;

  /// The message of the latest failed call on this thread.
  virtual std::string lastError() = 0;
};

}  // namespace pipetrace
