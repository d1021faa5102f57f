// Real events on a real stream.
#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "profiler/cuda/stream.h"
#include "tests/gpu/gpu_fixture.h"

namespace pipetrace {
namespace {

struct MarkedJob {
  DeviceStream::Mark start = 0;
  DeviceStream::Mark end = 0;
  Nanoseconds queued = 0;  // by the host's clock, before its first call
};

class CudaEventsTest : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    device = std::make_shared<CudaDevice>(cuda, 0);
    recorded = std::make_unique<CudaStream>(device, stream, CudaStreamOptions{.shareWithin = 0});
  }
  MarkedJob job(int rounds) {
    MarkedJob made;
    made.queued = monotonicNow();
    made.start = recorded->markStart();
    work(rounds);
    made.end = recorded->mark();
    return made;
  }
  /// As the log thread would, until all is known or ten seconds have passed.
  bool resolve(DeviceStream::Mark mark, BoundedTime& time) {
    const Nanoseconds limit = monotonicNow() + 10 * kNsPerSecond;
    while (monotonicNow() < limit) {
      recorded->poll(true);
      if (recorded->resolve(mark, time)) return time.time != DeviceStream::kLost;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
  }

  std::shared_ptr<CudaDevice> device;
  std::unique_ptr<CudaStream> recorded;
};

TEST_F(CudaEventsTest, JobsLieBetweenTheirQueueingAndTheirSynchronization) {
  std::vector<MarkedJob> jobs;
  for (int i = 0; i < 100; ++i) jobs.push_back(job(1 + i % 7));
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  const Nanoseconds synchronized = monotonicNow();
  Nanoseconds lastEnd = 0;
  for (const MarkedJob& made : jobs) {
    BoundedTime start;
    BoundedTime end;
    ASSERT_TRUE(resolve(made.start, start));
    ASSERT_TRUE(resolve(made.end, end));
    EXPECT_GE(start.time, std::max(made.queued - start.bound, lastEnd));
    EXPECT_GT(end.time, start.time);
    EXPECT_LE(end.time, synchronized + end.bound);
    EXPECT_LE(end.bound, 100 * kNsPerUs);
    lastEnd = end.time;
  }
  EXPECT_EQ(recorded->counts().lost, 0);
}

TEST_F(CudaEventsTest, ADurationAgreesWithCudasOwnForTheSameWork) {
  cudaEvent_t before = nullptr;
  cudaEvent_t after = nullptr;
  ASSERT_EQ(cudaEventCreate(&before), cudaSuccess);
  ASSERT_EQ(cudaEventCreate(&after), cudaSuccess);
  const DeviceStream::Mark startMark = recorded->markStart();
  cudaEventRecord(before, stream);
  work(200);
  cudaEventRecord(after, stream);
  const DeviceStream::Mark endMark = recorded->mark();
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  float milliseconds = 0;
  ASSERT_EQ(cudaEventElapsedTime(&milliseconds, before, after), cudaSuccess);
  BoundedTime start;
  BoundedTime end;
  ASSERT_TRUE(resolve(startMark, start));
  ASSERT_TRUE(resolve(endMark, end));
  const double ours = static_cast<double>(end.time - start.time) / 1e6;
  EXPECT_GE(ours, milliseconds * 0.999 - 0.01);
  EXPECT_LE(ours, milliseconds * 1.001 + 0.05) << "our events lie around the other two";
  cudaEventDestroy(before);
  cudaEventDestroy(after);
}

TEST_F(CudaEventsTest, ElapsedTimeBackwardsIsNegative) {
  // An event is measured from the closest comparison of clocks, which may be after it.
  cudaEvent_t first = nullptr;
  cudaEvent_t second = nullptr;
  ASSERT_EQ(cudaEventCreate(&first), cudaSuccess);
  ASSERT_EQ(cudaEventCreate(&second), cudaSuccess);
  cudaEventRecord(first, stream);
  work(20);
  cudaEventRecord(second, stream);
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  float forward = 0;
  float backward = 0;
  ASSERT_EQ(cudaEventElapsedTime(&forward, first, second), cudaSuccess);
  ASSERT_EQ(cudaEventElapsedTime(&backward, second, first), cudaSuccess);
  EXPECT_GT(forward, 0);
  EXPECT_FLOAT_EQ(backward, -forward);
  cudaEventDestroy(first);
  cudaEventDestroy(second);
}

TEST_F(CudaEventsTest, ACapturedGraphIsUnchangedAndItsLaunchIsAJob) {
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  const MarkedJob inside = job(3);
  std::thread([&] { recorded->poll(true); }).join();
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  std::size_t nodes = 0;
  ASSERT_EQ(cudaGraphGetNodes(graph, nullptr, &nodes), cudaSuccess);
  EXPECT_EQ(nodes, 3U);
  cudaGraphExec_t executable = nullptr;
  ASSERT_EQ(cudaGraphInstantiate(&executable, graph, 0), cudaSuccess);
  const DeviceStream::Mark startMark = recorded->markStart();
  ASSERT_EQ(cudaGraphLaunch(executable, stream), cudaSuccess);
  const DeviceStream::Mark endMark = recorded->mark();
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  BoundedTime start;
  BoundedTime end;
  EXPECT_FALSE(resolve(inside.start, start)) << "it never ran by itself";
  ASSERT_TRUE(resolve(startMark, start));
  ASSERT_TRUE(resolve(endMark, end));
  EXPECT_GT(end.time, start.time);
  EXPECT_EQ(recorded->counts().captured, 2);
  cudaGraphExecDestroy(executable);
  cudaGraphDestroy(graph);
}

TEST_F(CudaEventsTest, AnotherThreadsCaptureIsNotDisturbed) {
  const MarkedJob made = job(10);
  cudaStream_t other = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking), cudaSuccess);
  ASSERT_EQ(cudaStreamBeginCapture(other, cudaStreamCaptureModeGlobal), cudaSuccess);
  BoundedTime time;
  std::thread([&] { EXPECT_TRUE(resolve(made.start, time)); }).join();
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(other, &graph), cudaSuccess);
  if (graph != nullptr) cudaGraphDestroy(graph);
  cudaStreamDestroy(other);
}

TEST(CudaRuntimeTest, WithoutADriverThereAreNoDevicesAndAReason) {
  const std::shared_ptr<CudaApi> cuda = makeCudaRuntime();
  if (cuda->deviceCount() > 0) GTEST_SKIP() << "there is a device";
  EXPECT_FALSE(cuda->setDevice(0));
  EXPECT_EQ(cuda->createEvent(), nullptr);
  EXPECT_NE(cuda->lastError(), "no error");
}

}  // namespace
}  // namespace pipetrace
