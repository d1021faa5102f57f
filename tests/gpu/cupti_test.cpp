// Real kernels through a real CUPTI.
#include <algorithm>
#include <cstdio>
#include <map>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "profiler/cuda/stream.h"
#include "profiler/kernels/cupti_collector.h"
#include "profiler/kernels/nvtx_ranges.h"
#include "profiler/testing/recorded_log.h"
#include "tests/gpu/gpu_fixture.h"

namespace pipetrace {
namespace {

class CuptiTest : public GpuTest {};

TEST_F(CuptiTest, EveryMemsetIsWrittenWithItsJobAndLiesWithinTheJobsEvents) {
  const RecordedLog log;
  CudaKernelLog lines(log.path());
  CuptiCollector collector(makeCupti(), lines);
  ASSERT_TRUE(collector.isRunning()) << collector.trouble();
  const auto device = std::make_shared<CudaDevice>(cuda, 0);
  const WallClock wall = WallClock::read();
  CudaStream recorded(device, stream, {.shareWithin = 0, .clock = wall});
  struct Job {
    DeviceStream::Mark start;
    DeviceStream::Mark end;
  };
  std::vector<Job> jobs;
  constexpr int kJobs = 20;
  constexpr int kRounds = 5;
  for (int i = 0; i < kJobs; ++i) {
    collector.beginJob(i);
    const DeviceStream::Mark start = recorded.markStart();
    work(kRounds);
    jobs.push_back({start, recorded.mark()});
    collector.endJob();
  }
  work(3);  // of no job
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  collector.stop();
  EXPECT_EQ(collector.dropped(), 0);
  std::map<int, int> found;
  std::map<int, std::pair<Nanoseconds, Nanoseconds>> span;
  const std::regex form(
      R"(name = memset, start_time = (\d+)\.(\d{6}), end_time = (\d+)\.(\d{6}).*?(, job = (\d+))?$)");
  for (const std::string& line : log.lines("Profiler Kernel: ")) {
    std::smatch match;
    if (!std::regex_match(line, match, form)) continue;
    const int job = match[6].matched ? std::stoi(match[6]) : -1;
    const Nanoseconds begin = std::stoll(match[1]) * kNsPerMs + std::stoll(match[2]);
    const Nanoseconds end = std::stoll(match[3]) * kNsPerMs + std::stoll(match[4]);
    const auto [at, isNew] = span.try_emplace(job, begin, end);
    at->second = {std::min(at->second.first, begin), std::max(at->second.second, end)};
    ++found[job];
  }
  EXPECT_EQ(found[-1], 3);
  Nanoseconds worst = 0;
  Nanoseconds tightest = kNsMax;  // a job that waits for its first launch has reason to be longer
  for (int i = 0; i < kJobs; ++i) {
    EXPECT_EQ(found[i], kRounds) << i;
    BoundedTime start;
    BoundedTime end;
    const auto& job = jobs[static_cast<std::size_t>(i)];
    while (!recorded.resolve(job.start, start)) recorded.poll(true);
    while (!recorded.resolve(job.end, end)) recorded.poll(true);
    const Nanoseconds before = span[i].first - wall.at(start.time);
    const Nanoseconds behind = wall.at(end.time) - span[i].second;
    worst = std::max({worst, -before, -behind});
    tightest = std::min(tightest, std::max(before, behind));
  }
  std::printf("  the device's stamps reach beyond the jobs' events by %.1f us at most\n",
              static_cast<double>(worst) / 1e3);
  std::printf("  the closest job's events lie %.1f us from them\n",
              static_cast<double>(tightest) / 1e3);
  EXPECT_LE(worst, 100 * kNsPerUs);
  EXPECT_LE(tightest, 100 * kNsPerUs);
}

TEST(NvtxRangesTest, RangesNestAndEndOnOtherThreadsWithoutATool) {
  const NvtxRanges ranges;
  ranges.push(JobKind::kForward, 3);
  ranges.push(JobKind::kSendForward, 3);
  ranges.pop();
  ranges.pop();
  ranges.end(ranges.start(JobKind::kRecvForward, 4));
}

}  // namespace
}  // namespace pipetrace
