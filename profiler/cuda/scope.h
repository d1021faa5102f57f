#pragma once

#include "profiler/cuda/api.h"

namespace pipetrace {

/// While it lives, the calling thread works on `device` and cannot break another thread's graph
/// capture. Its destructor restores both.
class CudaScope {
 public:
  enum class Thread {
    kPrograms,  ///< gets its device back
    kOurs,  ///< keeps this device: going back to one that it never chose would make a context there
  };

  CudaScope(CudaApi& api, int device, Thread thread) noexcept
      : api_(api),
        before_(api.currentDevice()),
        wasRelaxed_(api.exchangeRelaxedCapture(true)),
        goesBack_(before_ != device && before_ >= 0 && thread == Thread::kPrograms),
        isThere_(before_ == device || api.setDevice(device)) {}
  ~CudaScope() {
    if (goesBack_) api_.setDevice(before_);
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
  const bool goesBack_;
  const bool isThere_;
};

}  // namespace pipetrace
