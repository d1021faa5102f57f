#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "parser/perfetto/state.h"
#include "trace/timeline.h"

namespace pipetrace {

/// The contents of one TrackEvent.
struct PerfettoEvent {
  std::uint64_t type = 0;                   ///< perfetto_format::event::kBegin, ...
  std::optional<std::uint64_t> track;       ///< its own, else the sequence's
  std::optional<std::uint64_t> absoluteUs;  ///< a time of its own, of old traces
  bool hasDelta = false;                    ///< its time counts from an event before: of old traces
  Event event;                              ///< times apart
  double value = 0;                         ///< of a counter
  bool hasInteger = false;                  ///< the value is `integer`
  std::int64_t integer = 0;
  std::int64_t lostArguments = 0;  ///< nested ones, and those whose name was lost
  bool lostName = false;
  bool hasExtraCounters = false;
  std::vector<std::uint64_t> flows;       ///< flows that go through it ...
  std::vector<std::uint64_t> endedFlows;  ///< ... and those that end in it
};

/// Reads a serialized TrackEvent; strings and arguments go into `timeline`. Throws
/// protozero::exception when the bytes are no message.
PerfettoEvent readPerfettoEvent(std::string_view message, const PerfettoState& state,
                                Timeline& timeline);

}  // namespace pipetrace
