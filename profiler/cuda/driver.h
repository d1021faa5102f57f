#pragma once

#include <memory>

#include "profiler/cuda/api.h"

namespace pipetrace {

/// CUDA through the driver's own library, libcuda.so.1, which this call loads. Neither the build
/// nor the machine needs the CUDA toolkit. The program may use any version of it, as its streams
/// and events are the driver's. Works on the devices' primary contexts, which the CUDA runtime uses
/// as well. A thread that has no context has none afterwards, either.
///
/// Throws Error when there is no driver.
std::shared_ptr<CudaApi> makeCudaDriver();

}  // namespace pipetrace
