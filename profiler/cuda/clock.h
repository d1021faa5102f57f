#pragma once

#include <deque>

#include "trace/nanoseconds.h"

namespace pipetrace {

/// One comparison of a device's clock with the host's.
struct DeviceAnchor {
  Nanoseconds device = 0;     ///< by the device's clock
  Nanoseconds host = 0;       ///< by the host's
  Nanoseconds halfWidth = 0;  ///< `host` is off by at most this
};

/// A time of the host's clock and how far it can be off.
struct BoundedTime {
  Nanoseconds time = 0;
  Nanoseconds bound = 0;
};

/// Turns times of a device's clock into the host's, by interpolation between the anchors before and
/// after. It gives no time after the last anchor: clocks drift by tens of microseconds a second.
/// Not thread-safe.
class CudaClock {
 public:
  /// How much faster or slower than on average the device's clock may run between two anchors, in
  /// millionths. Quartz clocks wander by a fraction of one within seconds.
  static constexpr Nanoseconds kWanderPpm = 1;
  /// Times before the oldest kept anchor are placed by the oldest two, with a wider bound.
  static constexpr std::size_t kKept = 1024;
  /// An anchor that close after its predecessor is dropped when the next one comes, since the rate
  /// between two close anchors is mostly error.
  static constexpr Nanoseconds kClose = kNsPerSecond;

  /// Anchors come in order of the device's clock; one that goes back, or does not advance on the
  /// host, is left out.
  void add(const DeviceAnchor& anchor);

  /// False: `device` lies after the last anchor.
  bool toHost(Nanoseconds device, BoundedTime& host) const;

  bool empty() const { return anchors_.empty(); }
  const DeviceAnchor& last() const { return anchors_.back(); }

 private:
  std::deque<DeviceAnchor> anchors_;
};

}  // namespace pipetrace
