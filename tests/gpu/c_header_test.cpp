// The C header's CUDA streams, which go through the driver, beside the runtime that the program
// itself uses.
#include <regex>
#include <string>

#include "profiler/pipetrace.h"
#include "profiler/testing/recorded_log.h"
#include "tests/gpu/gpu_fixture.h"

namespace pipetrace {
namespace {

class CHeaderTest : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    pipetrace_options options;
    pipetrace_options_init(&options);
    options.enabled = PIPETRACE_ON;
    options.log_directory = log.folder().c_str();
    ASSERT_EQ(pipetrace_open(&options, &recorder), 0) << pipetrace_error();
    compute = pipetrace_add_cuda_stream(recorder, "compute", stream, 0);
    ASSERT_EQ(compute, 0) << pipetrace_error();
  }
  void begin() {
    pipetrace_job job;
    pipetrace_job_init(&job, PIPETRACE_FORWARD);
    pipetrace_begin(recorder, compute, &job);
  }
  void end() { pipetrace_end(recorder, compute); }

  RecordedLog log;
  pipetrace_recorder* recorder = nullptr;
  int compute = -1;
};

TEST_F(CHeaderTest, AJobLastsAsLongAsCudaSays) {
  cudaEvent_t before = nullptr;
  cudaEvent_t after = nullptr;
  ASSERT_EQ(cudaEventCreate(&before), cudaSuccess);
  ASSERT_EQ(cudaEventCreate(&after), cudaSuccess);
  begin();
  cudaEventRecord(before, stream);
  work(200);
  cudaEventRecord(after, stream);
  end();
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  float milliseconds = 0;
  ASSERT_EQ(cudaEventElapsedTime(&milliseconds, before, after), cudaSuccess);
  ASSERT_EQ(pipetrace_close(recorder), 0) << pipetrace_error();
  const std::vector<std::string> lines = log.lines("Profiler Info: ");
  ASSERT_EQ(lines.size(), 1u);
  const auto timeIn = [&](const std::string& key) {
    std::smatch match;
    EXPECT_TRUE(std::regex_search(lines[0], match, std::regex(key + R"( = (\d+)\.(\d{6}))")));
    return std::stoll(match[1]) * kNsPerMs + std::stoll(match[2]);
  };
  const Nanoseconds lasted = timeIn("job_end_time") - timeIn("job_start_time");
  EXPECT_GE(static_cast<double>(lasted) / 1e6, milliseconds * 0.999 - 0.01);
  EXPECT_LE(static_cast<double>(lasted) / 1e6, milliseconds * 1.001 + 0.05);
  cudaEventDestroy(before);
  cudaEventDestroy(after);
}

TEST_F(CHeaderTest, AGraphIsUnchanged) {
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  begin();
  work(1);
  end();
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  std::size_t nodes = 0;
  ASSERT_EQ(cudaGraphGetNodes(graph, nullptr, &nodes), cudaSuccess);
  EXPECT_EQ(nodes, 1u);
  cudaGraphDestroy(graph);
  begin();
  work(1);
  end();
  ASSERT_EQ(pipetrace_close(recorder), 0) << pipetrace_error();
  EXPECT_EQ(log.lines("Profiler Info: ").size(), 1u);
  EXPECT_EQ(log.number("Profiler End: ", "dropped"), 1);
}

}  // namespace
}  // namespace pipetrace
