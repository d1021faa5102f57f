#pragma once

#include <memory>

#include "profiler/cuda/api.h"

namespace pipetrace {

/// CUDA through the driver's own library, libcuda.so.1, which is loaded by this call: neither this
/// build nor the machine needs the CUDA toolkit, and the program may use any version of it, as its
/// streams and events are the driver's. Works on the devices' primary contexts, which are those of
/// the CUDA runtime. A thread that has no context has none afterwards, either.
///
/// Throws Error when there is no driver.
std::shared_ptr<CudaApi> makeCudaDriver();

}  // namespace pipetrace
