#pragma once

#include <string>

#include "profiler/clock/clock_exchange.h"
#include "profiler/process/until_fork.h"

namespace pipetrace {

/// Compares this host's clock with rank 0's, at once and then regularly. Writes each comparison
/// into a rank's job log as a `Profiler Clock:` line, beside its recorder. Open it after the
/// recorder, whose `Profiler Meta:` line begins the run, and close it before. A child that is
/// forked meanwhile compares nothing, and may destroy this like its parent.
class ClockComparison {
 public:
  static constexpr Nanoseconds kEvery = 30 * kNsPerSecond;

  /// Throws Error if the log cannot be opened. A server that does not answer for some seconds, or
  /// until the end, is reported once on stderr. It is asked again, first soon and then every
  /// `every` nanoseconds.
  ClockComparison(std::string logPath, std::string address, int port, ClockFunction now,
                  Nanoseconds every = kEvery);
  ~ClockComparison();
  ClockComparison(const ClockComparison&) = delete;
  ClockComparison& operator=(const ClockComparison&) = delete;

 private:
  class Impl;
  UntilFork<Impl> impl_;
};

}  // namespace pipetrace
