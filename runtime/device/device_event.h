#pragma once

#include <c10/core/Event.h>
#include <c10/core/Stream.h>

namespace pipetrace {

/// A point in the work of a stream: all that was queued on it until then. Other streams and the
/// host can wait for it.
///
/// Threads: one makes it, any may wait.
class DeviceEvent {
 public:
  /// The end of what is queued on `stream` now.
  explicit DeviceEvent(const c10::Stream& stream);

  const c10::Stream& stream() const { return stream_; }

  /// Work that is queued on `other` from now on runs after it. The host does not wait.
  void block(const c10::Stream& other) const;
  /// The host waits until the device is there.
  void synchronize() const { event_.synchronize(); }
  /// Whether the device is there.
  bool hasPassed() const { return event_.query(); }

 private:
  const c10::Stream stream_;
  c10::Event event_;
};

}  // namespace pipetrace
