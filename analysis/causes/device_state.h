#pragma once

#include <optional>

#include "trace/timeline.h"

namespace pipetrace {

/// What the driver said of a rank's GPU while it ran (the recorder's counters `gpu_…`,
/// docs/log-format.md; those of other programs' traces by their names). Means over the samples.
/// What nobody sampled is not known, and not 0.
struct DeviceState {
  std::optional<double> clock;       ///< of its SMs, MHz
  std::optional<double> peersClock;  ///< the median of the other ranks' means
  /// Shares of the time in which the clock was held down: by the limit of power, by heat.
  std::optional<double> byPower;
  std::optional<double> byHeat;
  std::optional<double> linkErrors;    ///< NVLink errors while it was sampled
  std::optional<double> othersMemory;  ///< bytes that other processes held on it, at most

  /// Whether any of it is a reason to be slow.
  bool isReason() const;
};

/// Of a rank. All fields are empty where the run has no such counters.
DeviceState deviceStateOf(const Timeline& timeline, int rank);

}  // namespace pipetrace
