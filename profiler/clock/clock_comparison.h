#pragma once

#include <string>

#include "profiler/clock/clock_exchange.h"
#include "profiler/process/in_forked_child.h"

namespace pipetrace {

/// Compares this host's clock with rank 0's, at once and then regularly. Writes each comparison
/// into a rank's job log as a `Profiler Clock:` line, beside its recorder. Open it after the
/// recorder, whose `Profiler Meta:` line begins the run, and close it before. A child that is
/// forked meanwhile compares nothing, and may destroy this like its parent.
class ClockComparison {
 public:
  static constexpr Nanoseconds kEvery = 30 * kNsPerSecond;
  static constexpr Nanoseconds kPatience = 2 * kNsPerSecond;

  /// Throws Error if the log cannot be opened. A server that does not answer for kPatience, or
  /// until the end, is reported once on stderr. It is asked again all the same, first soon and then
  /// ever more rarely; once it has answered, every `every` nanoseconds.
  ClockComparison(std::string logPath, ClockPlace place, ClockFunction now,
                  Nanoseconds every = kEvery);
  ~ClockComparison();
  ClockComparison(const ClockComparison&) = delete;
  ClockComparison& operator=(const ClockComparison&) = delete;

  /// Waits until the log holds a comparison, for `atMost`. Returns whether it does; in a forked
  /// child, false. Called before the first step, it places the jobs of a short run, too.
  bool awaitFirst(Nanoseconds atMost = kPatience);

 private:
  class Impl;
  UntilFork<Impl> impl_;
};

}  // namespace pipetrace
