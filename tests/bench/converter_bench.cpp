#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/bench/bare_conversion.h"
#include "tests/bench/bench_data.h"
#include "tests/bench/measure.h"
#include "tests/bench/our_conversion.h"
#include "trace/error.h"

namespace pipetrace::bench {
namespace {

constexpr const char* kUsage =
    "converter_bench [--folder DIR] [--runs N] [--jobs N] [--only TEXT] [--large] [--phases]\n"
    "Measures the conversion of job logs and Chrome JSON against the least that a converter can\n"
    "do, in turn with it, and prints medians: of the time from begin to end, and of the time of\n"
    "all cores, which other programs disturb less. Logs and outputs are kept in DIR\n"
    "(/dev/shm/pipetrace-bench): choose one on a disk to measure that as well.\n"
    "--jobs: lines of jobs in the dense log (1000000). --large: ten times as many, too.\n";

struct Options {
  std::string folder = "/dev/shm/pipetrace-bench";
  int runs = 5;
  std::int64_t jobs = 1'000'000;
  std::string only;
  bool large = false;
  bool phases = false;
};

/// One piece of work, and what it is measured against.
struct Row {
  std::string name;
  std::function<void()> ours;
  std::function<void()> bare;  ///< null: nothing
  std::int64_t jobs = 0;       ///< for the memory of each
};

std::optional<Options> optionsFrom(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    if (flag == "--large") {
      options.large = true;
    } else if (flag == "--phases") {
      options.phases = true;
    } else if (i + 1 == argc) {
      return std::nullopt;
    } else if (flag == "--folder") {
      options.folder = argv[++i];
    } else if (flag == "--only") {
      options.only = argv[++i];
    } else if (flag == "--runs") {
      options.runs = std::atoi(argv[++i]);
    } else if (flag == "--jobs") {
      options.jobs = std::atoll(argv[++i]);
    } else {
      return std::nullopt;
    }
  }
  if (options.runs < 1 || options.jobs < 100) return std::nullopt;
  return options;
}

class Benchmark {
 public:
  explicit Benchmark(Options options) : options_(std::move(options)) {}

  void run() {
    addLogs("dense", {.jobsPerDevice = options_.jobs / 4});
    addLogs("mixed", {.jobsPerDevice = options_.jobs / 10, .otherLinesPerJob = 9});
    if (options_.large) addLogs("large", {.jobsPerDevice = options_.jobs / 4 * 10});
    const std::string trace = inFolder("trace.json");
    add({.name = "Chrome JSON to timeline, 2 threads", .ours = [=, this] { load(trace, ours(2)); }},
        [=, this] { makeChromeTrace(trace, options_.jobs); });

    std::printf("%-36s %8s %8s %6s %10s %10s %6s %10s %10s\n", "", "ours, s", "bare, s", "ratio",
                "CPU ours,s", "CPU bare,s", "ratio", "peak, MiB", "bytes/job");
    for (const Row& row : rows_) measureRow(row);
  }

 private:
  using Step = std::function<void()>;

  std::string inFolder(const std::string& name) const { return options_.folder + "/" + name; }

  ConversionOptions ours(int threads, bool everything = false) const {
    return {
        .threads = threads, .bubbles = everything, .flows = everything, .phases = options_.phases};
  }

  void add(Row row, const Step& makeData) {
    if (row.name.find(options_.only) == std::string::npos) return;
    makeData();
    rows_.push_back(std::move(row));
  }

  void addLogs(const std::string& kind, const LogShape& shape) {
    const std::string folder = inFolder(kind + "-" + std::to_string(shape.jobsPerDevice));
    const std::string output = inFolder("out.json");
    const std::int64_t jobs = shape.jobsPerDevice * shape.devices;
    for (const int threads : {1, 2}) {
      for (const bool everything : {false, true}) {
        std::string name = kind + (everything ? ", everything on, " : ", jobs only, ");
        name += threads == 1 ? "1 thread" : "2 threads";
        add({.name = name,
             .ours = [=, this] { convert(folder, output, ours(threads, everything)); },
             .bare =
                 [=] {
                   if (convertBarely(makeLogs(folder, shape), output, threads) <= 0) {
                     throw Error("the bare loop found no job");
                   }
                 },
             .jobs = jobs},
            [=] { makeLogs(folder, shape); });
      }
    }
  }

  void measureRow(const Row& row) const {
    std::vector<Cost> ofOurs;
    std::vector<Cost> ofBare;
    for (int i = 0; i < options_.runs; ++i) {
      ofOurs.push_back(measure(row.ours));
      if (row.bare) ofBare.push_back(measure(row.bare));
    }
    const Cost cost = median(ofOurs);
    const Cost bare = row.bare ? median(ofBare) : Cost{};
    const auto print = [&](int width, double oursSeconds, double bareSeconds) {
      std::printf(" %*.3f", width, oursSeconds);
      if (row.bare) {
        std::printf(" %*.3f %6.2f", width, bareSeconds, oursSeconds / bareSeconds);
      } else {
        std::printf(" %*s %6s", width, "", "");
      }
    };
    std::printf("%-36s", row.name.c_str());
    print(8, cost.seconds, bare.seconds);
    print(10, cost.cpuSeconds, bare.cpuSeconds);
    std::printf(" %10.1f", cost.peakMiB);
    if (row.jobs > 0) {
      std::printf(" %10.1f", cost.peakMiB * 1024 * 1024 / static_cast<double>(row.jobs));
    }
    std::printf("\n");
    std::fflush(stdout);
  }

  Options options_;
  std::vector<Row> rows_;
};

}  // namespace
}  // namespace pipetrace::bench

int main(int argc, char** argv) {
  const auto options = pipetrace::bench::optionsFrom(argc, argv);
  if (!options) {
    std::fputs(pipetrace::bench::kUsage, stderr);
    return 2;
  }
  try {
    pipetrace::bench::Benchmark(*options).run();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
