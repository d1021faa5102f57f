#pragma once

#include <cstdint>
#include <vector>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "trace/log/clock_anchors.h"
#include "trace/nanoseconds.h"

namespace pipetrace {

/// A counter of the host that is cheap to read and the same on all its cores.
enum class TickSource : std::uint8_t {
  kTsc,           ///< the processor's time stamp counter, where it is invariant
  kMonotonicRaw,  ///< CLOCK_MONOTONIC_RAW, ns
};

/// CLOCK_MONOTONIC_RAW, ns.
std::uint64_t monotonicRawNow() noexcept;

inline std::uint64_t ticksNow(TickSource source) noexcept {
#if defined(__x86_64__)
  if (source == TickSource::kTsc) [[likely]]
    return __rdtsc();
#else
  static_cast<void>(source);
#endif
  return monotonicRawNow();
}

/// kTsc if the kernel says that it runs at one rate (constant_tsc) and never stops (nonstop_tsc).
TickSource bestTickSource();
/// The same from the text of /proc/cpuinfo.
TickSource tickSourceOf(const char* cpuInfo);

/// "tsc", "monotonic_raw": `clock` in `Profiler Meta:`.
const char* nameOf(TickSource source);

/// Turns ticks into CLOCK_MONOTONIC. Reads both clocks at the same moment now and then (an anchor),
/// and puts every reading on the line between the two anchors around it. So times follow
/// CLOCK_MONOTONIC (ranks of one host agree), never decrease, and no duration is negative.
///
/// ticks(), now(), ticksAt() and roughly() from any thread; the rest from one thread.
class HostClock {
 public:
  /// Takes the first two anchors, which needs a fifth of a millisecond.
  explicit HostClock(TickSource source = bestTickSource());

  TickSource source() const noexcept { return source_; }
  std::uint64_t ticks() const noexcept { return ticksNow(source_); }

  /// Both clocks at one moment: of several readings the first during which the thread was not
  /// interrupted, else the one in which the two clocks were read closest together.
  ClockAnchor now() const noexcept { return read(kTries, widestWhole()).anchor; }
  /// What ticks() was at a time of CLOCK_MONOTONIC, by the mean rate from the first anchor to
  /// `now`, which is now(). Off by how much the rate has changed since then: of a time a
  /// second ago, mostly by less than a microsecond. A time to come counts as now.
  std::uint64_t ticksAt(Nanoseconds time, const ClockAnchor& now) const noexcept;

  /// Takes an anchor: the one of several tries in which the two clocks were read closest together.
  /// If every try was interrupted there is no new anchor, unless the last one is a second old.
  void addAnchor();

  /// The CLOCK_MONOTONIC time of `ticks`. False while there is no anchor after it yet.
  bool monotonicAt(std::uint64_t ticks, Nanoseconds& time) const noexcept {
    if (ticks > anchors_.back().ticks) return false;
    const ClockAnchor& from = anchors_[anchors_.size() - 2];
    if (ticks >= from.ticks) [[likely]] {
      const auto distance = static_cast<Wide>(ticks - from.ticks);
      time = from.monotonic + static_cast<Nanoseconds>((distance * rate_) >> kRateBits);
    } else {
      time = longAgo(ticks);
    }
    return true;
  }

  /// Ascending; old ones are thinned out as they get older.
  const std::vector<ClockAnchor>& anchors() const noexcept { return anchors_; }
  /// Length of `ticks` in ns, by the mean rate.
  Nanoseconds duration(std::uint64_t ticks) const noexcept;
  /// The same by the rate of the first two anchors alone, which is off by a thousandth or so.
  Nanoseconds roughly(std::uint64_t ticks) const noexcept;

 private:
  __extension__ using Wide = unsigned __int128;
  // Rounding the rate to that many bits loses a ns in minutes, and anchors are closer than that.
  static constexpr int kRateBits = 40;
  static constexpr int kTries = 8;

  struct Reading {
    ClockAnchor anchor;
    std::uint64_t width = 0;  // ticks between which the other clock was read
  };
  /// The best of `tries` readings. It stops at the first that is no wider than `enough` ticks.
  Reading read(int tries, std::uint64_t enough) const noexcept;
  /// A reading that is wider was interrupted, or the processor was given to another thread.
  std::uint64_t widestWhole() const noexcept { return 3 * usualWidth_; }
  void keep(const ClockAnchor& anchor);
  Nanoseconds longAgo(std::uint64_t ticks) const noexcept;

  const TickSource source_;
  ClockAnchor first_;             // never changes
  std::uint64_t usualWidth_ = 0;  // of a reading; never changes
  std::uint64_t rate_ = 0;        // ns a tick between the last two anchors, times 2^40
  std::uint64_t firstRate_ = 0;   // that of the first two; never changes
  std::vector<ClockAnchor> anchors_;
};

}  // namespace pipetrace
