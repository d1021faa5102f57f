#include <gmock/gmock.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>

#include "tests/bench/bench_data.h"
#include "tests/bench/measure.h"
#include "tests/bench/our_conversion.h"
#include "tests/testing/program_run.h"
#include "trace/testing/folders.h"

namespace pipetrace::bench {
namespace {

namespace fs = std::filesystem;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kOwnMemoryOnly = false;
#else
constexpr bool kOwnMemoryOnly = true;
#endif

class Memory : public testing::Test {
 protected:
  Memory() : folder_(fs::path(testing::TempDir()) / ("memory " + std::to_string(getpid()))) {}
  ~Memory() override { fs::remove_all(folder_); }

  void SetUp() override {
    if (!kOwnMemoryOnly) GTEST_SKIP() << "a sanitizer's memory would be counted, too";
  }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  /// The least of several conversions, as the turns of threads make some of them larger.
  double peakOfConverting(std::int64_t jobs, const ConversionOptions& options) const {
    constexpr int kTries = 3;
    const std::string logs = path("logs" + std::to_string(jobs));
    makeLogs(logs, {.jobsPerDevice = jobs / 4});
    double least = std::numeric_limits<double>::infinity();
    for (int i = 0; i < kTries; ++i) {
      least = std::min(least, measure([&] { convert(logs, path("p.json"), options); }).peakMiB);
    }
    return 1024 * 1024 * least;
  }

  /// A report on one thread, in that many MiB of address space.
  static ProgramRun reportWithin(rlim_t most, const std::string& logs) {
    return runProgram({test::inBuild("bin/pipe-trace"), "report", logs, "--threads", "1"},
                      {.inChild = [most] {
                        const rlimit limit{most << 20U, most << 20U};
                        ::setrlimit(RLIMIT_AS, &limit);
                      }});
  }

  /// The memory that each further job takes at the peak, in bytes.
  double bytesPerJob(const ConversionOptions& options) const {
    constexpr std::int64_t kFew = 72'000;
    constexpr std::int64_t kMany = 360'000;
    const double few = peakOfConverting(kFew, options);
    const double many = peakOfConverting(kMany, options);
    EXPECT_LE(many, 64.0 * kMany + (64 << 20));
    return (many - few) / (kMany - kFew);
  }

  fs::path folder_;
};

constexpr double kRoundingUp =
    7;  // vectors and pages are larger than their contents, and peaks vary

TEST_F(Memory, AJobTakesNoMoreThanItsEvent) {
  EXPECT_LE(bytesPerJob({.threads = 1}), 64 + kRoundingUp);
  EXPECT_LE(bytesPerJob({.threads = 2}), 64 + kRoundingUp);
}

TEST_F(Memory, AChromeTraceTakesAtMostOneAndAHalfTimesItsFile) {
  const std::string trace = path("trace.json");
  makeChromeTrace(trace, 300'000);
  const auto size = static_cast<double>(fs::file_size(trace));
  EXPECT_LE(1024 * 1024 * measure([&] { load(trace, {.threads = 2}); }).peakMiB, 1.5 * size);
}

/// The idle time of each rank goes back over the jobs of all that come before it.
TEST_F(Memory, PathsOfThousandsOfRanksAreNotKept) {
  constexpr int kRanks = 6000;
  fs::create_directories(folder_);
  for (int rank = 0; rank < kRanks; ++rank) {
    const std::string at = std::to_string(rank);
    std::ofstream(path("workerlog." + at))
        << "Profiler Info: Job (0), type = forward, micro_batch_id = 0, job_start_time = " << at
        << ".000000, job_end_time = " << at << ".200000\n";
  }
  const ProgramRun result = reportWithin(128, folder_.string());
  EXPECT_EQ(result.exitCode, 0) << result.err;
  EXPECT_THAT(result.out, testing::HasSubstr("6000 ranks, 1 step, 6000 compute jobs"));
}

TEST_F(Memory, ProgramThatRunsOutOfItSaysInWhatAndWhatTakesLess) {
  const std::string logs = path("logs");
  makeLogs(logs, {.jobsPerDevice = 250'000});
  const ProgramRun result = reportWithin(96, logs);
  EXPECT_EQ(result.exitCode, 2);
  EXPECT_THAT(result.err,
              testing::ContainsRegex("pipe-trace report: memory ran out while "
                                     "(reading the inputs|explaining the run), with 0."));
  EXPECT_THAT(result.err, testing::HasSubstr("--steps and --ranks read less"));
}

}  // namespace
}  // namespace pipetrace::bench
