#pragma once

#include "profiler/cuda_api.h"

namespace pipetrace {

/// While it lives, the calling thread works on `device` and cannot break another thread's graph
/// capture; then both are as they were.
class CudaScope {
 public:
  CudaScope(CudaApi& api, int device) noexcept
      : api_(api),
        before_(api.currentDevice()),
        wasRelaxed_(api.exchangeRelaxedCapture(true)),
        changed_(before_ != device) {
    isThere_ = !changed_ || api.setDevice(device);
  }
  ~CudaScope() {
    if (changed_ && before_ >= 0) api_.setDevice(before_);
    api_.exchangeRelaxedCapture(wasRelaxed_);
  }
  CudaScope(const CudaScope&) = delete;
  CudaScope& operator=(const CudaScope&) = delete;

  /// False: the device could not be made current.
  bool isThere() const { return isThere_; }

 private:
  CudaApi& api_;
  const int before_;
  const bool wasRelaxed_;
  const bool changed_;
  bool isThere_ = false;
};

}  // namespace pipetrace
