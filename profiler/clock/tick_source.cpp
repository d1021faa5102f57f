#include "profiler/clock/tick_source.h"

#include <ctime>
#include <fstream>
#include <sstream>
#include <string>

namespace pipetrace {

TickSource tickSourceOf(const char* cpuInfo) {
#if defined(__x86_64__)
  std::istringstream lines(cpuInfo);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("flags")) continue;
    std::istringstream flags(line);
    bool constant = false;
    bool nonstop = false;
    for (std::string flag; flags >> flag;) {
      constant |= flag == "constant_tsc";
      nonstop |= flag == "nonstop_tsc";
    }
    return constant && nonstop ? TickSource::kTsc : TickSource::kMonotonicRaw;
  }
#else
  static_cast<void>(cpuInfo);
#endif
  return TickSource::kMonotonicRaw;
}

TickSource bestTickSource() {
  std::ifstream in("/proc/cpuinfo");
  std::string text;
  // The first processor is enough, and large machines list hundreds.
  for (std::string line; std::getline(in, line) && !line.empty();) text += line + "\n";
  return tickSourceOf(text.c_str());
}

std::uint64_t monotonicRawNow() noexcept {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC_RAW, &time);
  return static_cast<std::uint64_t>(time.tv_sec * kNsPerSecond + time.tv_nsec);
}

const char* nameOf(TickSource source) {
  return source == TickSource::kTsc ? "tsc" : "monotonic_raw";
}

}  // namespace pipetrace
