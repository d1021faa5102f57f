// The count of calls that wait for a device, without one.
#include "tests/gpu/cuda_waits.h"

#include <gmock/gmock.h>

#include <thread>

namespace pipetrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

void call(const char* name) {
  CudaWaits::entered(name);
  CudaWaits::left();
}

class CudaWaitsTest : public testing::Test {
 protected:
  void TearDown() override {
    CudaWaits::end();
    CudaWaits::take();
  }
};

TEST_F(CudaWaitsTest, CallsThatSynchroniseCopyAndWaitOrFreeDoWait) {
  for (const char* const name :
       {"cudaStreamSynchronize_v3020", "cudaEventSynchronize_v3020", "cudaDeviceSynchronize_v3020",
        "cuCtxSynchronize", "cudaMemcpy_v3020", "cuMemcpyDtoH_v2", "cudaFree_v3020", "cuMemFree_v2",
        "cudaFreeHost_v3020"}) {
    EXPECT_TRUE(waitsForDevice(name)) << name;
  }
}

TEST_F(CudaWaitsTest, CallsAfterWhichTheDeviceGoesOnDoNotWait) {
  for (const char* const name :
       {"cudaStreamWaitEvent_v3020", "cudaEventRecord_v3020", "cudaEventQuery_v3020",
        "cudaMemcpyAsync_v3020", "cuMemcpyDtoHAsync_v2", "cudaFreeAsync_v11020",
        "cudaLaunchKernel_v7000", "cudaMalloc_v3020", "cudaGraphAddMemcpyNode_v10000"}) {
    EXPECT_FALSE(waitsForDevice(name)) << name;
  }
}

TEST_F(CudaWaitsTest, CallsCountBetweenBeginAndEndOfTheirThread) {
  call("cudaFree");
  CudaWaits::begin();
  call("cudaEventSynchronize");
  call("cudaEventSynchronize");
  std::thread([] { call("cudaFree"); }).join();
  std::thread([] {
    CudaWaits::begin();
    call("cudaStreamSynchronize");
  }).join();
  CudaWaits::end();
  call("cudaFree");
  EXPECT_THAT(CudaWaits::take(),
              ElementsAre(Pair("cudaEventSynchronize", 2), Pair("cudaStreamSynchronize", 1)));
  EXPECT_THAT(CudaWaits::take(), IsEmpty());
}

TEST_F(CudaWaitsTest, CallThatAnotherOneMakesIsPartOfThat) {
  CudaWaits::begin();
  CudaWaits::entered("cudaMemcpy");
  call("cuMemcpyDtoH_v2");
  call("cuStreamSynchronize");
  CudaWaits::left();
  call("cuStreamSynchronize");
  EXPECT_THAT(CudaWaits::take(),
              ElementsAre(Pair("cuStreamSynchronize", 1), Pair("cudaMemcpy", 1)));
}

}  // namespace
}  // namespace pipetrace
