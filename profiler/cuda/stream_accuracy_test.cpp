// Two hours of jobs on a simulated device: resolved times against true ones.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "profiler/testing/fake_cuda_stream.h"

namespace pipetrace {
namespace {

constexpr Nanoseconds kHours = 2;
constexpr Nanoseconds kSimulated = kHours * 3600 * kNsPerSecond;

class Sample {
 public:
  void add(Nanoseconds value) { values_.push_back(value); }
  Nanoseconds at(double part) {
    const auto n = static_cast<std::size_t>(part * static_cast<double>(values_.size() - 1));
    std::nth_element(values_.begin(), values_.begin() + static_cast<std::ptrdiff_t>(n),
                     values_.end());
    return values_[n];
  }
  std::size_t size() const { return values_.size(); }
  void print(const char* name) {
    std::printf("  %-22s %9.3f %9.3f %9.3f\n", name, static_cast<double>(at(0.5)) / 1e3,
                static_cast<double>(at(0.99)) / 1e3, static_cast<double>(at(1)) / 1e3);
  }

 private:
  std::vector<Nanoseconds> values_;
};

struct Outcome {
  Sample error;
  Sample bound;
  Sample durationError;
  std::int64_t beyondBound = 0;
  std::int64_t overlaps = 0;
  std::int64_t unresolved = 0;
};

void check(FakeCudaStream& test, const FakeCudaStream::Truth& job, Nanoseconds& lastEnd,
           Outcome& outcome) {
  BoundedTime start;
  BoundedTime end;
  if (!test.stream.resolve(job.start, start) || !test.stream.resolve(job.end, end)) {
    ++outcome.unresolved;
    return;
  }
  for (const auto& [time, truth] : {std::pair{start, job.began}, std::pair{end, job.ended}}) {
    const Nanoseconds error = std::llabs(time.time - truth);
    outcome.error.add(error);
    outcome.bound.add(time.bound);
    if (error > time.bound) ++outcome.beyondBound;
  }
  outcome.durationError.add(std::llabs((end.time - start.time) - (job.ended - job.began)));
  if (start.time < lastEnd || end.time < start.time) ++outcome.overlaps;
  lastEnd = end.time;
}

Outcome simulate(std::uint64_t seed) {
  // The bounds are promised for such a device.
  FakeCudaStream test({}, {.driftPpm = 18,
                           .wanderPpm = 0.5,
                           .narrowest = 3 * kNsPerUs,
                           .widest = 20 * kNsPerUs,
                           .oneInIsTenTimesWider = 20,
                           .seed = seed});
  std::mt19937_64 random(seed);
  const auto draw = [&](Nanoseconds from, Nanoseconds to) {
    return std::uniform_int_distribution<Nanoseconds>(from, to)(random);
  };
  Outcome outcome;
  std::vector<FakeCudaStream::Truth> jobs;
  Nanoseconds lastEnd = 0;
  const Nanoseconds until = test.cuda->hostNow() + kSimulated;
  while (test.cuda->hostNow() < until) {
    // A step: back-to-back jobs, some after a gap on the host, at times far ahead of the device.
    for (int i = 0; i < 30; ++i) {
      if (draw(0, 3) == 0) test.cuda->advance(draw(kNsPerUs, 40 * kNsPerMs));
      jobs.push_back(test.job(draw(50 * kNsPerUs, 120 * kNsPerMs)));
    }
    const Nanoseconds done = test.cuda->doneAt(test.handle);
    test.pass(std::max(done - test.cuda->hostNow(), kNsPerMs) + draw(0, 30 * kNsPerMs),
              25 * kNsPerMs);
    if (draw(0, 9) == 0) {
      test.stream.poll(true);  // a flush
    } else {
      test.pass(CudaDevice::kAnchorEvery, 25 * kNsPerMs);
    }
    for (const auto& job : jobs) check(test, job, lastEnd, outcome);
    jobs.clear();
  }
  return outcome;
}

TEST(CudaStreamAccuracyTest, TwoHoursOfJobsLieWithinTheirBounds) {
  Outcome outcome = simulate(20231020);
  std::printf("%lld h, %zu times\n", static_cast<long long>(kHours), outcome.error.size());
  std::printf("  %-22s %9s %9s %9s\n", "us", "median", "p99", "worst");
  outcome.error.print("error");
  outcome.bound.print("reported bound");
  outcome.durationError.print("error of a duration");
  EXPECT_GT(outcome.error.size(), 100'000U);
  EXPECT_EQ(outcome.unresolved, 0);
  EXPECT_EQ(outcome.beyondBound, 0);
  EXPECT_EQ(outcome.overlaps, 0);
  EXPECT_LE(outcome.bound.at(0.99), 20 * kNsPerUs);
  EXPECT_LE(outcome.error.at(0.5), 2 * kNsPerUs);
  EXPECT_LE(outcome.durationError.at(0.5), 500);
}

}  // namespace
}  // namespace pipetrace
