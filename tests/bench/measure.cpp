#include "tests/bench/measure.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>

#include "trace/error.h"

namespace pipetrace::bench {
namespace {

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

}  // namespace

Cost measure(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  const pid_t child = ::fork();
  if (child < 0) throw Error("cannot start a process");
  if (child == 0) {
    int status = 0;
    try {
      work();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
      status = 1;
    }
    ::_exit(status);
  }
  int status = 0;
  rusage usage{};
  if (::wait4(child, &status, 0, &usage) != child || status != 0) {
    throw Error("a piece of work that was to be measured failed");
  }
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
  return {.seconds = wall.count(),
          .cpuSeconds = seconds(usage.ru_utime) + seconds(usage.ru_stime),
          .peakMiB = static_cast<double>(usage.ru_maxrss) / 1024};
}

Cost median(std::vector<Cost> costs) {
  const auto of = [&](double Cost::*figure) {
    std::sort(costs.begin(), costs.end(),
              [&](const Cost& a, const Cost& b) { return a.*figure < b.*figure; });
    return costs[costs.size() / 2].*figure;
  };
  return {.seconds = of(&Cost::seconds),
          .cpuSeconds = of(&Cost::cpuSeconds),
          .peakMiB = of(&Cost::peakMiB)};
}

}  // namespace pipetrace::bench
