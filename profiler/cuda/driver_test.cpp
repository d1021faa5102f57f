// CUDA streams of programs that use the C header, down to the lines of their logs. The driver that
// is loaded is fake_cuda_driver, and fake_nvml is its NVML.
#include "profiler/cuda/driver.h"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <regex>

#include "profiler/clock/wall_clock.h"
#include "profiler/pipetrace.h"
#include "profiler/testing/fake_cuda_driver.h"
#include "profiler/testing/recorded_log.h"
#include "trace/testing/forked_child.h"

namespace pipetrace {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::SizeIs;

const char* const kInfo = "Profiler Info: ";
const char* const kStreamLine = "Profiler Stream: ";
constexpr Nanoseconds kWork = 3 * kNsPerMs;

/// The number after "key = ": milliseconds with six decimals, as ns.
Nanoseconds timeIn(const std::string& line, const char* key) {
  std::smatch match;
  if (!std::regex_search(line, match, std::regex(std::string(key) + " = (\\d+)\\.(\\d{6})"))) {
    return -1;
  }
  return std::stoll(match[1]) * kNsPerMs + std::stoll(match[2]);
}

class CudaDriverTest : public testing::Test {
 protected:
  CudaDriverTest() {
    pipetrace_options options;
    pipetrace_options_init(&options);
    options.enabled = PIPETRACE_ON;
    options.log_directory = log.folder().c_str();
    EXPECT_EQ(pipetrace_open(&options, &recorder), 0) << pipetrace_error();
  }
  ~CudaDriverTest() override { close(); }

  void close() {
    EXPECT_EQ(pipetrace_close(recorder), 0) << pipetrace_error();
    recorder = nullptr;
  }
  /// A job that queues that much work.
  void job(int lane, void* queue, int kind = PIPETRACE_FORWARD, Nanoseconds work = kWork) {
    pipetrace_job job;
    pipetrace_job_init(&job, kind);
    pipetrace_begin(recorder, lane, &job);
    fakeCudaWork(queue, work);
    pipetrace_end(recorder, lane);
  }

  RecordedLog log;
  pipetrace_recorder* recorder = nullptr;
  void* const stream = fakeCudaNewStream();
};

TEST_F(CudaDriverTest, AJobLastsAsLongAsTheDeviceWorksForIt) {
  const int compute = pipetrace_add_cuda_stream(recorder, "compute", stream, 0);
  const int send = pipetrace_add_cuda_stream(recorder, "send", fakeCudaNewStream(), 0);
  ASSERT_EQ(compute, 0) << pipetrace_error();
  ASSERT_EQ(send, 1) << pipetrace_error();
  const Nanoseconds before = WallClock::read().at(monotonicNow());
  for (int i = 0; i < 5; ++i) job(compute, stream);
  job(send, nullptr, PIPETRACE_SEND_FORWARD, 0);
  const Nanoseconds queued = WallClock::read().at(monotonicNow());
  close();
  const std::vector<std::string> lines = log.lines(kInfo);
  ASSERT_THAT(lines, SizeIs(5));
  EXPECT_THAT(log.lines(kStreamLine), SizeIs(1));
  const Nanoseconds first = timeIn(lines.front(), "job_start_time");
  const Nanoseconds last = timeIn(lines.back(), "job_end_time");
  EXPECT_GE(first, before - kWork);
  EXPECT_GE(last - first, 4 * kWork);
  EXPECT_LE(last, queued + 6 * kWork) << "and no longer";
  EXPECT_EQ(log.number("Profiler End: ", "dropped"), 0);
  EXPECT_EQ(fakeCudaMisuses(), 0);
}

TEST_F(CudaDriverTest, FiguresOfTheGpuAreInTheLog) {
  ASSERT_EQ(pipetrace_add_cuda_stream(recorder, "compute", stream, 0), 0) << pipetrace_error();
  close();
  EXPECT_THAT(
      log.lines("Profiler Counter: "),
      Contains(AllOf(HasSubstr("name = gpu_sm_clock, "), HasSubstr("value = 1980, unit = MHz"))));
  EXPECT_EQ(fakeCudaMisuses(), 0);
}

TEST_F(CudaDriverTest, AThreadThatHadNoContextHasNoneAfterwards) {
  ASSERT_FALSE(fakeCudaHasContext());
  const int compute = pipetrace_add_cuda_stream(recorder, "compute", stream, 0);
  EXPECT_FALSE(fakeCudaHasContext());
  job(compute, stream);
  close();
  EXPECT_FALSE(fakeCudaHasContext());
  EXPECT_THAT(log.lines(kInfo), SizeIs(1));
  EXPECT_EQ(fakeCudaMisuses(), 0);
}

TEST_F(CudaDriverTest, NothingIsRecordedIntoAGraph) {
  const int compute = pipetrace_add_cuda_stream(recorder, "compute", stream, 0);
  fakeCudaCapture(stream, true);
  job(compute, stream);
  fakeCudaCapture(stream, false);
  job(compute, stream);
  close();
  EXPECT_THAT(log.lines(kInfo), SizeIs(1));
  EXPECT_EQ(log.number("Profiler End: ", "dropped"), 1);
  EXPECT_EQ(fakeCudaMisuses(), 0);
}

TEST_F(CudaDriverTest, AForkedChildDoesNotCallTheDriver) {
  SKIP_WHERE_A_CHILD_MAY_NOT_ALLOCATE();
  const int compute = pipetrace_add_cuda_stream(recorder, "compute", stream, 0);
  job(compute, stream);
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);  // it must not wait for a thread that it does not have
    const int records = fakeCudaRecords();
    job(compute, stream);
    const bool isOff = pipetrace_add_cuda_stream(recorder, "send", stream, 0) == 0 &&
                       pipetrace_close(recorder) == 0;
    _exit(isOff && fakeCudaRecords() == records ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  close();
  EXPECT_THAT(log.lines(kInfo), SizeIs(1));
}

TEST_F(CudaDriverTest, AStreamThatCannotBeAddedIsAnErrorWithAReason) {
  EXPECT_EQ(pipetrace_add_cuda_stream(recorder, "compute", stream, 1), -1);
  EXPECT_THAT(pipetrace_error(), HasSubstr("cannot record CUDA device 1: there are 1"));
  EXPECT_EQ(pipetrace_add_cuda_stream(recorder, "compute", stream, -1), -1);
  EXPECT_EQ(pipetrace_add_cuda_stream(recorder, "", stream, 0), -1);
  EXPECT_THAT(pipetrace_error(), HasSubstr("a stream needs a name"));
  EXPECT_EQ(pipetrace_add_cuda_stream(recorder, "compute", stream, 0), 0) << "the first that works";
  EXPECT_EQ(pipetrace_add_cuda_stream(recorder, "compute", stream, 0), -1);
  EXPECT_THAT(pipetrace_error(), HasSubstr("is there already"));
}

TEST_F(CudaDriverTest, ARecorderThatIsOffDoesNotCallTheDriver) {
  const int records = fakeCudaRecords();
  EXPECT_EQ(pipetrace_add_cuda_stream(nullptr, "compute", stream, 7), 0);
  EXPECT_EQ(fakeCudaRecords(), records);
}

}  // namespace
}  // namespace pipetrace
