#pragma once

#include <string>
#include <vector>

#include "trace/event.h"

namespace pipetrace::test {

/// A run of 1F1B on devices, traced as PyTorch's profiler does, with the truth about its jobs.
struct MadeUpPipeline {
  struct Job {
    int rank = 0;
    JobKind kind = JobKind::kForward;
    int stage = 0;
    int microBatch = 0;
    Nanoseconds begin = 0;  ///< on the device
    Nanoseconds end = 0;
  };
  std::vector<Job> jobs;
  std::vector<std::string> traces;  ///< of each rank: the JSON
};

/// `ranks` ranks, `microBatches` micro-batches, forwards of 10 ms and backwards of 20 ms. The host
/// launches each job 30 ms before the device begins it, in 1 ms. Autograd's thread launches the
/// backwards. Jobs work on two streams. On rank 2 one forward is a graph. Messages are kernels of
/// NCCL, launched outside of the jobs.
MadeUpPipeline makePipeline(int ranks, int microBatches);

}  // namespace pipetrace::test
