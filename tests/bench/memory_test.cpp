#include <gmock/gmock.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
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

  /// The memory that each further job takes at the peak, in bytes.
  double bytesPerJob(const ConversionOptions& options) const {
    constexpr std::int64_t kFew = 72'000;
    constexpr std::int64_t kMany = 360'000;
    const double few = peakOfConverting(kFew, options);
    const double many = peakOfConverting(kMany, options);
    EXPECT_LE(many, 64.0 * kMany + (64 << 20));
    return (many - few) / (kMany - kFew);
  }

 private:
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

TEST_F(Memory, ProgramThatRunsOutOfItSaysInWhatAndWhatTakesLess) {
  const std::string logs = path("logs");
  makeLogs(logs, {.jobsPerDevice = 250'000});
  const ProgramRun result = runProgram(
      {test::inBuild("bin/pipe-trace"), "report", logs, "--threads", "1"}, {.inChild = [] {
        constexpr rlim_t kBytes = 96 << 20;
        const rlimit limit{kBytes, kBytes};
        ::setrlimit(RLIMIT_AS, &limit);
      }});
  EXPECT_EQ(result.exitCode, 2);
  EXPECT_THAT(result.err,
              testing::ContainsRegex("pipe-trace report: memory ran out while "
                                     "(reading the inputs|explaining the run), with 0."));
  EXPECT_THAT(result.err, testing::HasSubstr("--steps and --ranks read less"));
}

}  // namespace
}  // namespace pipetrace::bench
