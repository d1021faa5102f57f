#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "trace/nanoseconds.h"

namespace pipetrace {

/// The clocks of a Perfetto trace. It converts a packet's timestamp to the trace's own time, by the
/// last snapshot before the packet.
class PerfettoClocks {
 public:
  static constexpr std::uint64_t kTraceClock = 6;  ///< BOOTTIME, unless a snapshot says otherwise

  /// Adds a serialized ClockSnapshot of writer sequence `sequence`.
  void addSnapshot(std::uint32_t sequence, std::string_view snapshot);

  /// The time of `timestamp` on clock `id`. Nothing when it does not fit. `unrelated` is set when
  /// no snapshot relates that clock to the trace's time; the two are then taken to be the same.
  std::optional<Nanoseconds> toTrace(std::uint32_t sequence, std::uint64_t id,
                                     std::uint64_t timestamp, bool& unrelated);

 private:
  struct Clock {
    bool isIncremental = false;
    std::uint64_t multiplier = 1;        // nanoseconds of one unit
    std::uint64_t last = 0;              // in units, of an incremental clock
    std::optional<std::int64_t> offset;  // trace time minus this clock, in nanoseconds
  };

  Clock& clock(std::uint32_t sequence, std::uint64_t id);

  std::uint64_t traceClock_ = kTraceClock;
  std::unordered_map<std::uint64_t, Clock> clocks_;
};

}  // namespace pipetrace
