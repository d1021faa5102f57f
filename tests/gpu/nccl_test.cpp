// A real NCCL with our plugin in this very program. One rank: NCCL refuses two on one device.
#include <nccl.h>

#include <cstdlib>
#include <map>
#include <string>

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
using testing::SizeIs;

// The table's functions return the values that NCCL compiles into its own calls.
static_assert(ncclSuccess == 0 && NCCL_VERSION_CODE >= NCCL_VERSION(2, 28, 0));

class NcclTest : public GpuTest {
 protected:
  static std::string valueOf(const std::string& line, const std::string& key) {
    const std::size_t at = line.find(key + " = ");
    if (at == std::string::npos) return "";
    const std::size_t from = at + key.size() + 3;
    return line.substr(from, line.find(',', from) - from);
  }
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

// With one rank NCCL copies what it should reduce, and reports nothing. A message to oneself is
// one.
TEST_F(NcclTest, EveryMessageIsWrittenWithTheJobThatCalledIt) {
  ASSERT_TRUE(recording.isRunning()) << recording.trouble();
  constexpr int kJobs = 10;
  constexpr std::size_t kFloats = 1 << 20;
  float* const data = static_cast<float*>(memory);
  const Nanoseconds before = recorder.clock().at(monotonicNow());
  for (int i = 0; i < kJobs; ++i) {
    const std::int64_t job = recorder.begin(compute, {.kind = JobKind::kBackward});
    ASSERT_EQ(job, i);
    ASSERT_EQ(ncclGroupStart(), ncclSuccess);
    ASSERT_EQ(ncclSend(data, kFloats, ncclFloat32, 0, communicator, stream), ncclSuccess);
    ASSERT_EQ(ncclRecv(data + kFloats, kFloats, ncclFloat32, 0, communicator, stream), ncclSuccess);
    ASSERT_EQ(ncclGroupEnd(), ncclSuccess);
    recorder.end(compute);
  }
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  const Nanoseconds behind = recorder.clock().at(monotonicNow());
  recording.flush(true);
  const auto lines = log.lines("Profiler Stream: ");
  ASSERT_THAT(lines, SizeIs(2 * kJobs));
  EXPECT_THAT(lines, Each(AllOf(HasSubstr("stream = nccl"), HasSubstr("peer = 0"),
                                HasSubstr("bytes = 4194304"), HasSubstr("untimed = 1"))));
  int sends = 0;
  std::map<std::string, int> ofJob;
  for (const std::string& line : lines) {
    sends += line.find("type = send,") != std::string::npos ? 1 : 0;
    ++ofJob[valueOf(line, "job")];
    const Nanoseconds begin = nanosecondsOf(valueOf(line, "start_time"));
    const Nanoseconds end = nanosecondsOf(valueOf(line, "end_time"));
    EXPECT_LE(before, begin) << line;
    EXPECT_LE(begin, end) << line;
    EXPECT_LE(end, behind) << line;
  }
  EXPECT_EQ(sends, kJobs);
  for (int i = 0; i < kJobs; ++i) EXPECT_EQ(ofJob[std::to_string(i)], 2) << i;
  EXPECT_EQ(ncclEvents().lost(), 0);
}

}  // namespace
}  // namespace pipetrace
