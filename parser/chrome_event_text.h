#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "parser/chrome_lanes.h"
#include "trace/timeline.h"

namespace pipetrace {

/// Appends one event as the JSON object of its complete (`X`) event. `origin` is what `ts` counts
/// from, not after the event's begin.
void appendChromeEvent(std::string& out, const Timeline& timeline, const Event& event,
                       const ChromeRow& row, Nanoseconds origin);

/// Appends one finite sample as the JSON object of its counter (`C`) event.
void appendChromeSample(std::string& out, const CounterSeries& series, const CounterSample& sample,
                        Nanoseconds origin);

/// Appends the two flow events (`s` and `f`, with a newline between them) of an arrow from the end
/// of one event, or from before where the other begins if that is earlier, to the begin of the
/// other, which must come after that of the first. `id` is used once in a file.
void appendChromeArrow(std::string& out, std::uint64_t id, const Event& from,
                       const ChromeRow& fromRow, const Event& to, const ChromeRow& toRow,
                       Nanoseconds origin);

/// Appends a metadata (`M`) event whose arguments are `arguments`, the inside of a JSON object.
/// tid < 0: it is about the process.
void appendChromeName(std::string& out, std::string_view what, std::int64_t pid, std::int64_t tid,
                      std::string_view arguments);

}  // namespace pipetrace
