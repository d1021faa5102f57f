#pragma once

#include <cuda_runtime_api.h>
#include <gmock/gmock.h>

#include <cstddef>
#include <memory>
#include <string>

#include "profiler/clock/wall_clock.h"
#include "profiler/cuda/runtime.h"

namespace pipetrace {

/// Skips where there is no device, and says why. Else: device 0, a stream, and work for it.
class GpuTest : public testing::Test {
 protected:
  void SetUp() override {
    cuda = makeCudaRuntime();
    if (cuda->deviceCount() == 0) GTEST_SKIP() << "no CUDA device: " << cuda->lastError();
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    ASSERT_EQ(cudaMalloc(&memory, kBytes), cudaSuccess);
    work(2);
    ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  }
  void TearDown() override {
    if (stream == nullptr) return;
    EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "recording left an error behind";
    cudaFree(memory);
    cudaStreamDestroy(stream);
  }

  /// Reads "milliseconds.fraction" with six digits of fraction, as logs have it.
  static Nanoseconds nanosecondsOf(std::string text) {
    std::erase(text, '.');
    return static_cast<Nanoseconds>(std::stoll(text));
  }

  /// Queues work of some tens of microseconds for every round.
  void work(int rounds) {
    for (int i = 0; i < rounds; ++i) cudaMemsetAsync(memory, i, kBytes, stream);
  }

  static constexpr std::size_t kBytes = 64 << 20;
  std::shared_ptr<CudaApi> cuda;
  cudaStream_t stream = nullptr;
  void* memory = nullptr;
};

}  // namespace pipetrace
