// A recorder with CUDA streams, down to the lines of its log.
#include <gmock/gmock.h>

#include <cstdlib>
#include <map>
#include <regex>
#include <set>

#include "profiler/cpu_stream.h"
#include "profiler/cuda/stream.h"
#include "profiler/recorder.h"
#include "profiler/testing/fake_cuda.h"
#include "profiler/testing/recorded_log.h"
#include "trace/text/decimal_time.h"

namespace pipetrace {
namespace {

const char* const kInfo = "Profiler Info: ";
const char* const kStreamLine = "Profiler Stream: ";
const char* const kEnd = "Profiler End: ";

struct CudaRecording {
  explicit CudaRecording(std::size_t ringSlots = 1 << 14, const FakeCudaBehaviour& behaviour = {})
      : cuda(std::make_shared<FakeCuda>(behaviour)),
        device(std::make_shared<CudaDevice>(cuda, 0)),
        recorder({.logDirectory = log.folder(), .ringSlots = ringSlots}) {}

  StreamId add(const char* name, CudaApi::Stream handle) {
    auto stream = std::make_unique<CudaStream>(
        device, handle, CudaStreamOptions{.shareWithin = 0, .clock = WallClock()});
    streams[name] = stream.get();
    return recorder.addStream(name, std::move(stream));
  }

  RecordedLog log;
  std::shared_ptr<FakeCuda> cuda;
  std::shared_ptr<CudaDevice> device;
  std::map<std::string, CudaStream*> streams;
  Recorder recorder;
};

/// The number after "key = ": milliseconds with six decimals, as ns.
Nanoseconds timeIn(const std::string& line, const char* key) {
  std::smatch match;
  if (!std::regex_search(line, match, std::regex(std::string(key) + " = (\\d+)\\.(\\d{6})"))) {
    return -1;
  }
  return std::stoll(match[1]) * kNsPerMs + std::stoll(match[2]);
}

TEST(CudaRecorderTest, LinesCarryTheTimesOfTheDevice) {
  CudaRecording test;
  const CudaApi::Stream handle = test.cuda->newStream();
  const CudaApi::Stream copies = test.cuda->newStream();
  const StreamId compute = test.add("compute", handle);
  const StreamId send = test.add("send", copies);
  std::vector<std::pair<Nanoseconds, Nanoseconds>> truth;
  for (int i = 0; i < 50; ++i) {
    test.recorder.begin(compute, {.kind = JobKind::kForward, .microBatch = i, .step = 0});
    const Nanoseconds began = test.cuda->lastRecordAt(handle);
    test.cuda->work(handle, 3 * kNsPerMs);
    test.recorder.end(compute);
    truth.emplace_back(began, test.cuda->lastRecordAt(handle));
    test.recorder.begin(send, {.kind = JobKind::kSendForward, .microBatch = i, .step = 0});
    test.cuda->work(copies, 100 * kNsPerUs);
    test.recorder.end(send);
  }
  test.recorder.endStep(0);
  test.cuda->advance(kNsPerSecond);
  test.recorder.close();
  const std::vector<std::string> lines = test.log.lines(kInfo);
  ASSERT_EQ(lines.size(), truth.size());
  Nanoseconds lastEnd = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const Nanoseconds start = timeIn(lines[i], "job_start_time");
    const Nanoseconds end = timeIn(lines[i], "job_end_time");
    EXPECT_LE(std::llabs(start - truth[i].first), 20 * kNsPerUs) << lines[i];
    EXPECT_LE(std::llabs(end - truth[i].second), 20 * kNsPerUs) << lines[i];
    EXPECT_GE(start, lastEnd) << "jobs of the compute lane overlap";
    lastEnd = end;
  }
  EXPECT_EQ(test.log.lines(kStreamLine).size(), 50U);
  EXPECT_EQ(test.log.number(kEnd, "dropped"), 0);
}

TEST(CudaRecorderTest, AFullRingDropsAndCountsJobsAndTheOthersAreRight) {
  CudaRecording test(8);
  const CudaApi::Stream handle = test.cuda->newStream();
  const StreamId compute = test.add("compute", handle);
  std::map<int, Nanoseconds> ends;
  constexpr int kJobs = 40;
  for (int i = 0; i < kJobs; ++i) {
    test.recorder.begin(compute, {.kind = JobKind::kForward, .microBatch = i, .step = 0});
    test.cuda->work(handle, kNsPerMs);
    test.recorder.end(compute);
    ends[i] = test.cuda->lastRecordAt(handle);
  }
  test.cuda->advance(kNsPerSecond);
  test.recorder.flush();
  test.recorder.begin(compute, {.kind = JobKind::kForward, .microBatch = kJobs, .step = 0});
  test.cuda->work(handle, kNsPerMs);
  test.recorder.end(compute);
  ends[kJobs] = test.cuda->lastRecordAt(handle);
  test.cuda->advance(kNsPerSecond);
  test.recorder.close();
  std::set<int> seen;
  for (const std::string& line : test.log.lines(kInfo)) {
    std::smatch match;
    ASSERT_TRUE(std::regex_search(line, match, std::regex("micro_batch_id = (\\d+)")));
    const int number = std::stoi(match[1]);
    EXPECT_TRUE(seen.insert(number).second) << line;
    EXPECT_LE(std::llabs(timeIn(line, "job_end_time") - ends[number]), 20 * kNsPerUs) << line;
  }
  EXPECT_TRUE(seen.count(kJobs) == 1) << "recording goes on after the ring was full";
  EXPECT_GE(seen.size(), 9U);
  EXPECT_EQ(static_cast<int>(seen.size()) + test.log.number(kEnd, "dropped"), kJobs + 1);
  EXPECT_GT(test.log.number(kEnd, "dropped"), 0);
}

TEST(CudaRecorderTest, AResetDeviceLosesItsJobsAndNothingElse) {
  CudaRecording test;
  const CudaApi::Stream handle = test.cuda->newStream();
  const StreamId send = test.add("send", handle);
  const StreamId compute = test.recorder.addStream("compute", std::make_unique<CpuStream>());
  const auto record = [&](StreamId stream, int jobs) {
    for (int i = 0; i < jobs; ++i) {
      test.recorder.begin(stream, {.kind = JobKind::kForward, .microBatch = i, .step = 0});
      if (stream == send) test.cuda->work(handle, kNsPerMs);
      test.recorder.end(stream);
    }
  };
  record(send, 5);
  test.cuda->advance(kNsPerSecond);
  test.recorder.flush();
  record(send, 7);
  test.cuda->reset(0);
  record(compute, 10);
  record(send, 3);
  test.recorder.close();
  EXPECT_EQ(test.log.lines(kStreamLine).size(), 5U);
  EXPECT_EQ(test.log.lines(kInfo).size(), 10U);
  EXPECT_EQ(test.log.number(kEnd, "written"), 15);
  EXPECT_EQ(test.log.number(kEnd, "dropped"), 10);
}

TEST(CudaRecorderTest, WithoutNvmlJobsAreRecordedAndNoFiguresOfTheGpu) {
  // Where there is an NVML after all, it knows no such GPU.
  CudaRecording test(1 << 14, {.hasUuids = true});
  const StreamId compute = test.add("compute", test.cuda->newStream());
  test.recorder.flush();
  test.recorder.begin(compute, {.kind = JobKind::kForward, .step = 0});
  test.recorder.end(compute);
  test.cuda->advance(kNsPerSecond);
  test.recorder.close();
  EXPECT_EQ(test.log.lines(kInfo).size(), 1U);
  EXPECT_EQ(test.log.lines("Profiler Counter: ").size(), 0U);
  EXPECT_EQ(test.log.number(kEnd, "errors"), 0);
}

TEST(CudaRecorderTest, BackToBackJobsCostOneRecordEach) {
  CudaRecording test;
  const CudaApi::Stream handle = test.cuda->newStream();
  auto stream = std::make_unique<CudaStream>(test.device, handle,
                                             CudaStreamOptions{.shareWithin = kNsPerSecond});
  const CudaStream& counted = *stream;
  const StreamId compute = test.recorder.addStream("compute", std::move(stream));
  for (int i = 0; i < 100; ++i) {
    test.recorder.begin(compute, {.kind = JobKind::kForward, .microBatch = i, .step = 0});
    test.cuda->work(handle, kNsPerMs);
    test.recorder.end(compute);
  }
  EXPECT_EQ(counted.counts().records, 101);
  test.cuda->advance(kNsPerSecond);
  test.recorder.close();
  EXPECT_EQ(test.log.lines(kInfo).size(), 100U);
}

}  // namespace
}  // namespace pipetrace
