#pragma once

#include <memory>
#include <string>

#include "profiler/cuda/api.h"
#include "profiler/recorder.h"
#include "runtime/record/recorded_streams.h"

namespace pipetrace {

/// Records the jobs as NVTX ranges, and through CUPTI what CUDA devices do for each of them, in the
/// recorder's log. Null where the build has no CUDA (PIPETRACE_CUDA) or the machine no device. A
/// part that fails although there is a device is left out, with a line on stderr that says why. One
/// for a rank, also where several share the process; to be destroyed before the recorder.
///
/// `device`: the rank's; negative: the thread's current one. `countsMemory`: the recorder also has
/// LibTorch's figures of the device's memory, which are those of the process.
std::unique_ptr<JobTrack> makeCudaTrack(Recorder& recorder, int device, bool countsMemory);

/// The CUDA runtime. Throws Error where the build has no CUDA.
std::shared_ptr<CudaApi> cudaRuntime();

}  // namespace pipetrace
