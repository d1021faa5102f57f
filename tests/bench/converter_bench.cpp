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
#include "tests/bench/goals.h"
#include "tests/bench/measure.h"
#include "tests/bench/our_conversion.h"
#include "trace/error.h"

namespace pipetrace::bench {
namespace {

constexpr const char* kUsage =
    "converter_bench [--folder DIR] [--runs N] [--jobs N] [--only TEXT] [--large] [--phases]\n"
    "Measures the conversion of job logs and Chrome JSON, in turn with the least that a converter\n"
    "can do. Prints medians of the time from begin to end, and of the time of all cores, which\n"
    "other programs disturb less. Then it lists the goals that the converter reaches.\n"
    "--folder: where logs and outputs are kept (/dev/shm/pipetrace-bench). Choose a folder on a\n"
    "disk to measure the disk as well.\n"
    "--jobs: number of jobs in the dense log (1000000). --large: also ten times that number.\n";

struct Options {
  std::string folder = "/dev/shm/pipetrace-bench";
  int runs = 5;
  std::int64_t jobs = 1'000'000;
  std::string only;
  bool large = false;
  bool phases = false;
};

/// A row of the table: one piece of work, and the work to compare it with.
struct Row {
  std::string name;
  std::function<void()> ours;
  std::function<void()> bare;  ///< null: nothing
  std::string input;           ///< a file or folder
  std::int64_t jobs = 0;       ///< 0: they are not counted
  int runs = 0;
};

double bytesIn(const std::string& input) {
  if (std::filesystem::is_regular_file(input)) {
    return static_cast<double>(std::filesystem::file_size(input));
  }
  double bytes = 0;
  for (const auto& file : std::filesystem::directory_iterator(input)) {
    bytes += static_cast<double>(file.file_size());
  }
  return bytes;
}

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
    addPerfetto("dense", {.jobsPerDevice = options_.jobs / 4});
    addLogs("mixed", {.jobsPerDevice = options_.jobs / 10, .otherLinesPerJob = 9});
    if (options_.large) addLogs("large", {.jobsPerDevice = options_.jobs / 4 * 10});
    const std::string trace = inFolder("trace-" + std::to_string(options_.jobs) + ".json");
    for (const int threads : {1, 2}) {
      add({.name = "Chrome JSON in, " + text(threads),
           .ours = [=, this] { load(trace, ours(threads)); },
           .bare = {},
           .input = trace},
          [=, this] { makeChromeTrace(trace, options_.jobs); });
    }

    std::printf("%-42s %8s %8s %6s %10s %10s %6s %10s\n", "", "ours, s", "bare, s", "ratio",
                "CPU ours,s", "CPU bare,s", "ratio", "peak, MiB");
    Measurements measured;
    for (const Row& row : rows_) measured[row.name] = measureRow(row);
    printGoals(measured);
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

  static std::string text(int threads) { return threads == 1 ? "1 thread" : "2 threads"; }
  static std::string text(bool everything) {
    return everything ? "everything on, " : "jobs only, ";
  }

  std::string folderOf(const std::string& kind, const LogShape& shape) const {
    return inFolder(kind + "-" + std::to_string(shape.jobsPerDevice));
  }

  /// Adds rows that compare with the bare loop. Large logs have only the rows of goals, and fewer
  /// runs.
  void addLogs(const std::string& kind, const LogShape& shape) {
    const bool isLarge = kind == "large";
    for (const int threads : {1, 2}) {
      for (const bool everything : {false, true}) {
        if (isLarge && everything != (threads == 2)) continue;
        const std::string name = kind + ", " + text(everything) + text(threads);
        addLogRow(name, folderOf(kind, shape), inFolder("out.json"), shape,
                  ours(threads, everything));
        if (threads == 1 || !everything || kind == "mixed") continue;
        addLogRow(name + ", nowhere", folderOf(kind, shape), "/dev/null", shape,
                  ours(threads, everything));
      }
    }
  }

  void addLogRow(const std::string& name, const std::string& folder, const std::string& output,
                 const LogShape& shape, const ConversionOptions& options) {
    const bool isLarge = name.starts_with("large");
    add({.name = name,
         .ours = [=] { convert(folder, output, options); },
         .bare =
             [=] {
               if (convertBarely(makeLogs(folder, shape), output, options.threads) <= 0) {
                 throw Error("the bare loop found no job");
               }
             },
         .input = folder,
         .jobs = shape.jobsPerDevice * shape.devices,
         .runs = isLarge ? (options_.runs + 1) / 2 : options_.runs},
        [=] { makeLogs(folder, shape); });
  }

  /// Adds rows that compare with the same conversion to JSON.
  void addPerfetto(const std::string& kind, const LogShape& shape) {
    const std::string folder = folderOf(kind, shape);
    for (const int threads : {1, 2}) {
      const bool everything = threads == 2;
      const auto to = [=, this](const char* output) {
        return [=, this] { convert(folder, inFolder(output), ours(threads, everything)); };
      };
      add({.name = kind + " to pftrace, " + text(everything) + text(threads),
           .ours = to("out.pftrace"),
           .bare = to("out.json"),
           .input = folder,
           .jobs = shape.jobsPerDevice * shape.devices},
          [=] { makeLogs(folder, shape); });
    }
  }

  /// Removes the outputs of the last run first, as their removal would be measured, too.
  Cost measureAlone(const Step& work) const {
    for (const char* output : {"out.json", "out.pftrace"})
      std::filesystem::remove(inFolder(output));
    return measure(work);
  }

  Measured measureRow(const Row& row) const {
    std::vector<Cost> ofOurs;
    std::vector<Cost> ofBare;
    for (int i = 0; i < (row.runs > 0 ? row.runs : options_.runs); ++i) {
      ofOurs.push_back(measureAlone(row.ours));
      if (row.bare) ofBare.push_back(measureAlone(row.bare));
    }
    const Measured result{.ours = median(ofOurs),
                          .bare = row.bare ? median(ofBare) : Cost{},
                          .inputBytes = bytesIn(row.input),
                          .jobs = static_cast<double>(row.jobs)};
    print(row.name, result);
    return result;
  }

  static void print(const std::string& name, const Measured& row) {
    std::printf("%-42s", name.c_str());
    const auto printPair = [](int width, double ours, double bare) {
      std::printf(" %*.3f", width, ours);
      if (bare > 0) {
        std::printf(" %*.3f %6.2f", width, bare, ours / bare);
      } else {
        std::printf(" %*s %6s", width, "", "");
      }
    };
    printPair(8, row.ours.seconds, row.bare.seconds);
    printPair(10, row.ours.cpuSeconds, row.bare.cpuSeconds);
    std::printf(" %10.1f\n", row.ours.peakMiB);
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
