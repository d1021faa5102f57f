#pragma once

#include <memory>

#include "profiler/cuda/api.h"

namespace pipetrace {

/// The CUDA runtime itself (target pipetrace::profiler_cuda, CMake option PIPETRACE_CUDA). Works
/// without a driver: there are no devices then.
std::shared_ptr<CudaApi> makeCudaRuntime();

}  // namespace pipetrace
