// A real NCCL with our plugin in this very program. One rank: NCCL refuses two on one device.
#include <nccl.h>

#include <cstdlib>

#include "profiler/cpu_stream.h"
#include "profiler/nccl/plugin.h"
#include "profiler/nccl/recording.h"
#include "profiler/recorder.h"
#include "profiler/testing/recorded_log.h"
#include "tests/gpu/gpu_fixture.h"

namespace pipetrace {
namespace {

using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

// The table's functions return the values that NCCL compiles into its own calls.
static_assert(ncclSuccess == 0 && NCCL_VERSION_CODE >= NCCL_VERSION(2, 28, 0));

class NcclTest : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    useStaticNcclPlugin();
    int device = 0;
    ASSERT_EQ(ncclCommInitAll(&communicator, 1, &device), ncclSuccess);
  }
  void TearDown() override {
    if (communicator != nullptr) {
      EXPECT_EQ(ncclCommDestroy(communicator), ncclSuccess);
    }
    GpuTest::TearDown();
  }

  RecordedLog log;
  Recorder recorder{{.logDirectory = log.folder(), .info = {.worldSize = 1}}};
  StreamId compute = recorder.addStream("compute", std::make_unique<CpuStream>());
  NcclRecording recording{recorder};
  ncclComm_t communicator = nullptr;
};

TEST_F(NcclTest, EveryCollectiveIsWrittenWithTheJobThatCalledIt) {
  ASSERT_TRUE(recording.isRunning()) << recording.trouble();
  constexpr int kJobs = 10;
  for (int i = 0; i < kJobs; ++i) {
    const std::int64_t job = recorder.begin(compute, {.kind = JobKind::kBackward});
    ASSERT_EQ(job, i);
    ASSERT_EQ(ncclAllReduce(memory, memory, 1 << 20, ncclFloat32, ncclSum, communicator, stream),
              ncclSuccess);
    recorder.end(compute);
  }
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  recording.flush(true);
  const auto lines = log.lines("Profiler Stream: ");
  ASSERT_THAT(lines, SizeIs(kJobs));
  EXPECT_THAT(lines, Each(AllOf(HasSubstr("type = all_reduce"), HasSubstr("stream = nccl"),
                                HasSubstr("bytes = 4194304"))));
  for (int i = 0; i < kJobs; ++i) {
    EXPECT_THAT(lines[static_cast<std::size_t>(i)],
                HasSubstr("job = " + std::to_string(i) + ", untimed = 1"));
  }
  EXPECT_EQ(ncclEvents().lost(), 0);
}

}  // namespace
}  // namespace pipetrace
