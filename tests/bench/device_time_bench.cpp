// The price of device times: a Kineto trace of a million events, read with the host's times and
// with the device's, in turn.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "parser/testing/load_timeline.h"
#include "tests/bench/measure.h"

namespace pipetrace::bench {
namespace {

namespace fs = std::filesystem;

constexpr int kJobs = 2500;
constexpr int kKernelsOfAJob = 100;

/// Four events for each kernel: two operators, the launch, the kernel. And one for each job.
void writeTrace(const fs::path& file) {
  std::ofstream out(file);
  out << R"({"schemaVersion":1,"distributedInfo":{"rank":0,"world_size":1},"traceEvents":[)";
  const auto add = [&](const char* category, const std::string& name, const char* place,
                       std::int64_t begin, std::int64_t length, const std::string& arguments) {
    out << "\n{\"ph\":\"X\",\"cat\":\"" << category << "\",\"name\":\"" << name << "\"," << place
        << ",\"ts\":" << begin << ".125,\"dur\":" << length << ".5,\"args\":{" << arguments
        << "}},";
  };
  const char* const host = "\"pid\":9,\"tid\":1";
  const char* const device = "\"pid\":0,\"tid\":7";
  std::int64_t time = 1000;
  std::int64_t onDevice = 2000;
  std::int64_t number = 0;
  for (int job = 0; job < kJobs; ++job) {
    const std::int64_t begin = time;
    for (int k = 0; k < kKernelsOfAJob; ++k, time += 9, onDevice += 10) {
      const std::string id = std::to_string(++number);
      const std::string inner = "\"External id\":" + std::to_string(number + 10'000'000);
      add("cpu_op", "aten::outer" + std::to_string(k % 37), host, time, 7,
          "\"External id\":" + id + ",\"Sequence number\":" + id +
              ",\"Fwd thread id\":0,\"Ev Idx\":" + id);
      add("cpu_op", "aten::inner" + std::to_string(k % 31), host, time + 1, 5,
          inner + ",\"Ev Idx\":" + id);
      add("cuda_runtime", "cudaLaunchKernel", host, time + 2, 3,
          inner + ",\"cbid\":211,\"correlation\":" + id);
      add("kernel", "kernel" + std::to_string(k % 53) + "<float>", device, onDevice, 9,
          inner + ",\"device\":0,\"stream\":7,\"correlation\":" + id +
              ",\"grid\":[1,1,1],\"block\":[256,1,1]");
    }
    add("user_annotation", (job % 2 == 0 ? "PP:0F" : "PP:0B") + std::to_string(job / 2 % 8), host,
        begin, time - begin - 1, "\"External id\":" + std::to_string(20'000'000 + job));
    time += 5;
  }
  out << "\n{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":9,\"args\":{\"name\":\"python\"}}],"
      << "\"baseTimeNanoseconds\":1700000000000000000}\n";
}

Cost costOf(const fs::path& file, JobTime time) {
  return measure([&] {
    Diagnostics diagnostics;
    test::loadTimeline({file.string()}, {.threads = 1, .jobTime = time}, diagnostics);
  });
}

void print(const char* name, const Cost& cost) {
  std::printf("%-12s %8.3f s %8.3f s of processor time %8.0f MiB\n", name, cost.seconds,
              cost.cpuSeconds, cost.peakMiB);
}

int run(int runs) {
  const fs::path file = fs::temp_directory_path() / "pipetrace-device-time-bench.json";
  writeTrace(file);
  std::vector<Cost> host;
  std::vector<Cost> device;
  for (int i = 0; i < runs; ++i) {
    host.push_back(costOf(file, JobTime::kHost));
    device.push_back(costOf(file, JobTime::kDevice));
  }
  const double mebibytes = static_cast<double>(fs::file_size(file)) / (1 << 20);
  fs::remove(file);
  print("--time host", median(host));
  print("device", median(device));
  std::printf("ratio %.3f of processor time; memory %.2f times the file of %.0f MiB\n",
              median(device).cpuSeconds / median(host).cpuSeconds,
              median(device).peakMiB / mebibytes, mebibytes);
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace pipetrace::bench

int main(int argc, char** argv) {
  try {
    return pipetrace::bench::run(argc > 1 ? std::max(1, std::atoi(argv[1])) : 5);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "device_time_bench: %s\n", error.what());
    return EXIT_FAILURE;
  }
}
