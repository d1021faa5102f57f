#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <limits>

#include "tests/bench/bench_data.h"
#include "tests/bench/measure.h"
#include "tests/bench/our_conversion.h"

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

}  // namespace
}  // namespace pipetrace::bench
