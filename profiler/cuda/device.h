#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "profiler/cuda/api.h"
#include "profiler/cuda/clock.h"

namespace pipetrace {

/// A CUDA device whose clock is compared with the host's regularly, for the streams of one
/// recorder. A comparison reads the host's time, records an event on a stream of its own, queries
/// it until it is done, and reads the host's time again. The narrowest of several tries counts.
///
/// Threads: poll() and the functions below it belong to the recorder's log thread.
class CudaDevice {
 public:
  /// How often the clocks are compared when nobody is in a hurry.
  static constexpr Nanoseconds kAnchorEvery = 2 * kNsPerSecond;
  /// How often they are compared at most when somebody is.
  static constexpr Nanoseconds kAnchorSoonest = 10 * kNsPerMs;
  static constexpr int kTries = 8;

  /// Compares the clocks for the first time. Throws Error if there is no such device, or it does
  /// not answer. The calling thread's current device stays what it is.
  CudaDevice(std::shared_ptr<CudaApi> api, int device);
  ~CudaDevice();
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;

  CudaApi& api() const { return *api_; }
  int index() const { return index_; }
  /// The stream on which comparisons run; nothing else waits for it.
  CudaApi::Stream stream() const { return stream_; }

  /// Compares the clocks if it is time to. `hurry`: a time later than the last comparison is
  /// wanted. The device must be current.
  void poll(bool hurry) noexcept;

  /// Gives the time of `event`, which is done, by the device's clock (ns since the first
  /// comparison), and how far the runtime's float can be off. False: the runtime failed.
  bool deviceTime(CudaApi::Event event, BoundedTime& time) noexcept;
  /// From one event to another, both done.
  bool elapsed(CudaApi::Event from, CudaApi::Event to, BoundedTime& duration) noexcept;

  const CudaClock& clock() const { return clock_; }
  /// Comparisons that did not work out, because the device was too busy or gone.
  std::int64_t failedAnchors() const { return failedAnchors_; }

 private:
  // Events of the last comparisons: times are measured from the closest one, because the step of a
  // float grows with the distance.
  static constexpr std::size_t kKeptEvents = 32;
  struct Anchor {
    CudaApi::Event event = nullptr;
    Nanoseconds device = 0;
  };

  void createEvents();
  void destroyEvents() noexcept;
  bool takeAnchor() noexcept;
  bool tryAnchor(CudaApi::Event event, Nanoseconds& before, Nanoseconds& after) noexcept;
  const Anchor& closestTo(Nanoseconds device) const noexcept;
  Anchor& anchorAt(std::size_t number) noexcept { return anchors_[number % kKeptEvents]; }

  const std::shared_ptr<CudaApi> api_;
  const int index_;
  CudaApi::Stream stream_ = nullptr;
  CudaApi::Event spare_ = nullptr;
  std::array<Anchor, kKeptEvents> anchors_;
  std::size_t taken_ = 0;
  Nanoseconds lastTry_ = 0;
  std::int64_t failedAnchors_ = 0;
  CudaClock clock_;
};

}  // namespace pipetrace
