#include "runtime/record/cuda_track.h"

#include "trace/error.h"

namespace pipetrace {

std::shared_ptr<CudaApi> cudaRuntime() {
  throw Error("this build has no CUDA, so the jobs of a device cannot be recorded");
}

std::unique_ptr<JobTrack> makeCudaTrack(Recorder& /*recorder*/, int /*device*/,
                                        bool /*countsMemory*/) {
  return nullptr;
}

}  // namespace pipetrace
