#include "profiler/clock/host_clock.h"

#include <algorithm>
#include <ctime>
#include <fstream>
#include <sstream>
#include <string>

#include "profiler/clock/wall_clock.h"

namespace pipetrace {
namespace {

constexpr int kFirstTries = 32;
constexpr Nanoseconds kFirstDistance = 200 * kNsPerUs;
constexpr std::size_t kMostAnchors = 2048;
constexpr std::size_t kThinning = 16;

}  // namespace

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

HostClock::HostClock(TickSource source) : source_(source) {
  anchors_.reserve(kMostAnchors + 1);
  const Reading first = read(kFirstTries, 0);
  usualWidth_ = first.width;
  first_ = first.anchor;
  anchors_.push_back(first_);
  while (monotonicNow() - first.anchor.monotonic < kFirstDistance) {
  }
  keep(read(kFirstTries, 0).anchor);
  firstRate_ = rate_;
}

std::uint64_t HostClock::ticksAt(Nanoseconds time, const ClockAnchor& now) const noexcept {
  const Nanoseconds length = now.monotonic - first_.monotonic;
  if (time >= now.monotonic || length <= 0) return now.ticks;
  const auto ago = static_cast<Wide>(now.monotonic - time);
  return now.ticks -
         static_cast<std::uint64_t>(ago * (now.ticks - first_.ticks) / static_cast<Wide>(length));
}

HostClock::Reading HostClock::read(int tries, std::uint64_t enough) const noexcept {
  Reading best;
  for (int i = 0; i < tries && (i == 0 || best.width > enough); ++i) {
    const std::uint64_t before = ticks();
    const Nanoseconds monotonic = monotonicNow();
    const std::uint64_t width = ticks() - before;
    if (i == 0 || width < best.width) best = {{before + width / 2, monotonic}, width};
  }
  return best;
}

void HostClock::addAnchor() {
  const Reading reading = read(kTries, 0);
  const bool isOld = reading.anchor.monotonic - anchors_.back().monotonic > kNsPerSecond;
  if (reading.width > widestWhole() && !isOld) return;
  keep(reading.anchor);
}

void HostClock::keep(const ClockAnchor& anchor) {
  if (anchor.ticks <= anchors_.back().ticks || anchor.monotonic < anchors_.back().monotonic) return;
  const ClockAnchor from = anchors_.back();
  anchors_.push_back(anchor);
  // Rounded down, so that no time between the two comes after the second.
  const auto rise = static_cast<Wide>(anchor.monotonic - from.monotonic);
  rate_ = static_cast<std::uint64_t>((rise << kRateBits) / (anchor.ticks - from.ticks));
  if (anchors_.size() < kMostAnchors) return;
  // Both clocks drift so slowly against each other that far fewer anchors will do for times long
  // past.
  const std::size_t half = anchors_.size() / 2;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < half; i += kThinning) anchors_[kept++] = anchors_[i];
  anchors_.erase(anchors_.begin() + static_cast<std::ptrdiff_t>(kept),
                 anchors_.begin() + static_cast<std::ptrdiff_t>(half));
}

Nanoseconds HostClock::longAgo(std::uint64_t ticks) const noexcept {
  return pipetrace::monotonicAt(anchors_, ticks);
}

Nanoseconds HostClock::duration(std::uint64_t ticks) const noexcept {
  const std::span<const ClockAnchor> all(anchors_);
  const std::uint64_t origin = anchors_.back().ticks;
  return pipetrace::monotonicAt(all, origin + ticks) - anchors_.back().monotonic;
}

Nanoseconds HostClock::roughly(std::uint64_t ticks) const noexcept {
  return static_cast<Nanoseconds>((static_cast<Wide>(ticks) * firstRate_) >> kRateBits);
}

}  // namespace pipetrace
