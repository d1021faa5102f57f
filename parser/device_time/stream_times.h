#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "parser/device_time/launches.h"
#include "trace/event.h"
#include "trace/rank_info.h"

namespace pipetrace {

/// A piece of work on a stream of a device.
struct StreamWork {
  Event* event = nullptr;
  const Launch* launch = nullptr;  ///< null: the trace has none
  bool hasNoTime = false;          ///< set by correctStream()
};

/// Counts of times that no stream can have had.
struct StreamFaults {
  std::int64_t withoutTime = 0;
  std::int64_t overruns = 0;
  Nanoseconds overrunTime = 0;

  StreamFaults& operator+=(const StreamFaults& other);
  void addTo(RankInfo& info) const;
};

/// Work may go on so long after the next one of its stream began: that is programmatic dependent
/// launch, and the resolution of times.
inline constexpr Nanoseconds kMostOverrun = 20 * kNsPerUs;

/// Corrects the work of one stream, which runs one thing at a time: what goes on after the next one
/// began ends there. Work of one launch (a graph) may overlap. Sets `hasNoTime` of work that lasts
/// no time and lies a millisecond or more before its launch. Work that lasts gets it, too, where a
/// few of many lie a second or more before theirs. `work`: in any order.
StreamFaults correctStream(std::span<StreamWork> work);

/// Removes the events of work without a time. `work` refers to events of this list, in its order.
void removeWithoutTime(std::span<const StreamWork> work, std::vector<Event>& events);

}  // namespace pipetrace
