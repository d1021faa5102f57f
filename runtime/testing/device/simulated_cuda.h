#pragma once

#include <c10/core/Stream.h>

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "profiler/clock/wall_clock.h"
#include "profiler/testing/fake_cuda.h"
#include "runtime/testing/device/test_device.h"

namespace pipetrace::testing {

/// While it lives, the test device's streams are those of a made-up CUDA runtime, so that a
/// recorder finds the times of its work there. An operator takes as long as its kernel took on the
/// CPU, and streams and the host wait by events. The made-up host's clock follows that of this
/// host.
///
/// Threads: any.
class SimulatedCuda {
 public:
  SimulatedCuda() : cuda_(std::make_shared<FakeCuda>(FakeCudaBehaviour{.devices = kTestDevices})) {
    setStreamHandles([this](c10::Stream stream) { return handleOf(stream); });
    timeOperators([this](c10::Stream stream, Nanoseconds duration) {
      follow();
      cuda_->work(handleOf(stream), duration);
    });
    followEvents([this](c10::Stream stream) { return cuda_->doneAt(handleOf(stream)); },
                 [this](Nanoseconds event, c10::Stream stream) {
                   cuda_->holdUntil(handleOf(stream), event);
                 },
                 [this](Nanoseconds event) { hostWaits(event); },
                 [this](c10::Stream stream) { cuda_->hold(handleOf(stream)); });
    thread_ = std::thread([this] {
      while (!ends_) {
        follow();
        std::this_thread::sleep_for(std::chrono::microseconds(200));
      }
    });
  }
  ~SimulatedCuda() {
    ends_ = true;
    thread_.join();
    setStreamHandles({});
    timeOperators({});
    followEvents({}, {}, {}, {});
  }
  SimulatedCuda(const SimulatedCuda&) = delete;
  SimulatedCuda& operator=(const SimulatedCuda&) = delete;

  const std::shared_ptr<FakeCuda>& cuda() const { return cuda_; }

 private:
  void follow() {
    const std::lock_guard lock(mutex_);
    const Nanoseconds passed = monotonicNow() - start_;
    const Nanoseconds behind = passed - (cuda_->hostNow() - origin_);
    if (behind > 0) cuda_->advance(behind);
  }

  FakeCuda::Stream handleOf(c10::Stream stream) {
    const std::lock_guard lock(mutex_);
    FakeCuda::Stream& handle = handles_[{stream.device_index(), stream.id()}];
    if (handle == nullptr) handle = cuda_->newStream(stream.device_index());
    return handle;
  }

  void hostWaits(Nanoseconds event) {
    for (; cuda_->hostNow() < event; follow()) std::this_thread::yield();
  }

  const std::shared_ptr<FakeCuda> cuda_;
  const Nanoseconds start_ = monotonicNow();
  const Nanoseconds origin_ = cuda_->hostNow();
  std::mutex mutex_;
  std::map<std::pair<int, c10::StreamId>, FakeCuda::Stream> handles_;
  std::atomic<bool> ends_ = false;
  std::thread thread_;
};

}  // namespace pipetrace::testing
