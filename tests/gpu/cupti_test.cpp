// Real kernels through a real CUPTI.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include "profiler/cuda/stream.h"
#include "profiler/kernels/cupti_collector.h"
#include "profiler/kernels/nvtx_ranges.h"
#include "profiler/testing/recorded_log.h"
#include "tests/gpu/cuda_waits.h"
#include "tests/gpu/gpu_fixture.h"

namespace pipetrace {
namespace {

struct Span {
  Nanoseconds begin = kNsMax;
  Nanoseconds end = kNsMin;
  int kernels = 0;
};

/// The distances of one job's events from its kernels by CUPTI.
struct EdgesOfJob {
  Nanoseconds before = 0;  ///< from its start event to its first kernel
  Nanoseconds behind = 0;  ///< from its last kernel to its end event
  Nanoseconds bound = 0;   ///< of the clocks, as the recorder knows it
};

class CuptiTest : public GpuTest {
 protected:
  /// The time of each job by CUPTI, from the log's lines; -1: kernels of no job.
  static std::map<int, Span> spans(const RecordedLog& log) {
    const std::regex form(
        R"(name = memset, start_time = (\d+)\.(\d{6}), end_time = (\d+)\.(\d{6}).*?(, job = (\d+))?$)");
    std::map<int, Span> found;
    for (const std::string& line : log.lines("Profiler Kernel: ")) {
      std::smatch match;
      if (!std::regex_match(line, match, form)) continue;
      Span& span = found[match[6].matched ? std::stoi(match[6]) : -1];
      span.begin = std::min(span.begin, nanosecondsOf(match[1].str() + match[2].str()));
      span.end = std::max(span.end, nanosecondsOf(match[3].str() + match[4].str()));
      ++span.kernels;
    }
    return found;
  }
  struct MarkedJob {
    DeviceStream::Mark start = 0;
    DeviceStream::Mark end = 0;
  };
  /// Waits for the device, and until the recorder knows all times.
  std::vector<EdgesOfJob> edges(CudaStream& recorded, const WallClock& wall,
                                const std::vector<MarkedJob>& jobs,
                                const std::map<int, Span>& kernels) {
    std::vector<EdgesOfJob> all;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      BoundedTime start;
      BoundedTime end;
      while (!recorded.resolve(jobs[i].start, start)) recorded.poll(true);
      while (!recorded.resolve(jobs[i].end, end)) recorded.poll(true);
      const Span& span = kernels.at(static_cast<int>(i));
      all.push_back({.before = span.begin - wall.at(start.time),
                     .behind = wall.at(end.time) - span.end,
                     .bound = std::max(start.bound, end.bound)});
    }
    return all;
  }
};

TEST_F(CuptiTest, EveryMemsetIsWrittenWithItsJobAndLiesWithinTheJobsEvents) {
  const RecordedLog log;
  CudaKernelLog lines(log.path());
  CuptiCollector collector(makeCupti(), lines);
  ASSERT_TRUE(collector.isRunning()) << collector.trouble();
  const WallClock wall = WallClock::read();
  CudaStream recorded(std::make_shared<CudaDevice>(cuda, 0), stream,
                      {.shareWithin = 0, .clock = wall});
  std::vector<MarkedJob> jobs;
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
  std::map<int, Span> found = spans(log);
  EXPECT_EQ(found[-1].kernels, 3);
  for (int i = 0; i < kJobs; ++i) ASSERT_EQ(found[i].kernels, kRounds) << i;
  for (const EdgesOfJob& job : edges(recorded, wall, jobs, found)) {
    EXPECT_GE(std::min(job.before, job.behind), -job.bound);
  }
}

TEST_F(CuptiTest, CallsThatWaitForTheDeviceAreCounted) {
  cudaEvent_t event = nullptr;
  ASSERT_EQ(cudaEventCreate(&event), cudaSuccess);
  std::vector<char> host(64);
  {
    const CudaWaits waits;
    ASSERT_EQ(waits.trouble(), "");
    CudaWaits::begin();
    for (int i = 0; i < 3; ++i) {
      work(1);
      cudaEventRecord(event, stream);
      cudaStreamWaitEvent(stream, event, 0);
      cudaEventSynchronize(event);
    }
    cudaStreamSynchronize(stream);
    cudaStreamSynchronize(stream);
    cudaMemcpy(host.data(), memory, host.size(), cudaMemcpyDeviceToHost);
    cudaDeviceSynchronize();
    CudaWaits::end();
    cudaStreamSynchronize(stream);
  }
  cudaEventDestroy(event);
  EXPECT_THAT(CudaWaits::take(), testing::ElementsAre(testing::Pair("cudaDeviceSynchronize", 1),
                                                      testing::Pair("cudaEventSynchronize", 3),
                                                      testing::Pair("cudaMemcpy", 1),
                                                      testing::Pair("cudaStreamSynchronize", 2)));
}

/// Jobs of two memsets each, recorded by events and by CUPTI at once.
class EdgesTest : public CuptiTest {
 protected:
  static constexpr int kBatches = 10;
  static constexpr int kJobs = 1000;  // a batch

  /// `idle`: each job waits until the one before has ended.
  std::vector<EdgesOfJob> record(bool idle) {
    const WallClock wall = WallClock::read();
    CudaStream recorded(std::make_shared<CudaDevice>(cuda, 0), stream,
                        {.shareWithin = 0, .clock = wall});
    std::vector<EdgesOfJob> all;
    for (int batch = 0; batch < kBatches; ++batch) {
      const RecordedLog log;
      CudaKernelLog lines(log.path());
      CuptiCollector collector(makeCupti(), lines);
      EXPECT_TRUE(collector.isRunning()) << collector.trouble();
      std::vector<MarkedJob> jobs;
      if (!idle) work(200);  // the host stays ahead of the device
      for (int i = 0; i < kJobs; ++i) {
        if (idle) cudaStreamSynchronize(stream);
        collector.beginJob(i);
        const DeviceStream::Mark start = recorded.markStart();
        work(2);
        jobs.push_back({start, recorded.mark()});
        collector.endJob();
      }
      EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
      collector.stop();
      EXPECT_EQ(collector.dropped(), 0);
      const std::map<int, Span> found = spans(log);
      for (int i = 0; i < kJobs; ++i) {
        if (!found.contains(i) || found.at(i).kernels != 2) {
          ADD_FAILURE() << "job " << i << " has lost a kernel";
          return all;
        }
      }
      const std::vector<EdgesOfJob> some = edges(recorded, wall, jobs, found);
      all.insert(all.end(), some.begin(), some.end());
    }
    return all;
  }

  struct Distances {
    double median = 0;  ///< us
    double most = 0;    ///< us: 99 % are not longer
  };
  static Distances print(const char* stream, const std::vector<EdgesOfJob>& jobs) {
    std::vector<double> all;
    double beyond = 0;
    double bound = 0;
    for (const EdgesOfJob& job : jobs) {
      for (const Nanoseconds edge : {job.before, job.behind}) {
        all.push_back(std::abs(static_cast<double>(edge)) / 1e3);
        beyond = std::max(beyond, -static_cast<double>(edge) / 1e3);
      }
      bound = std::max(bound, static_cast<double>(job.bound) / 1e3);
    }
    if (all.empty()) return {};
    std::sort(all.begin(), all.end());
    const Distances is{.median = all[all.size() / 2], .most = all[all.size() * 99 / 100]};
    std::printf(
        "  %s: %.2f us between events and the edges of their kernels (median of %zu), 99 %% within "
        "%.2f us. Kernels reach beyond their job by %.2f us at most; clocks are known to %.2f us\n",
        stream, is.median, all.size(), is.most, beyond, bound);
    return is;
  }
};

TEST_F(EdgesTest, EventsOfABusyStreamLieAtTheEdgesOfTheirKernels) {
  const std::vector<EdgesOfJob> jobs = record(false);
  ASSERT_EQ(jobs.size(), std::size_t{kBatches} * kJobs);
  for (const EdgesOfJob& job : jobs) {
    ASSERT_GE(std::min(job.before, job.behind), -job.bound);
  }
  const Distances is = print("a busy stream", jobs);
  EXPECT_LE(is.median, 3);
  EXPECT_LE(is.most, 10);
}

TEST_F(EdgesTest, NoKernelOfAnIdleStreamLiesOutsideItsJob) {
  const std::vector<EdgesOfJob> jobs = record(true);
  ASSERT_EQ(jobs.size(), std::size_t{kBatches} * kJobs);
  for (const EdgesOfJob& job : jobs) {
    ASSERT_GE(std::min(job.before, job.behind), -job.bound);
  }
  print("an idle stream", jobs);  // a start event is done before the host has launched the kernel
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
