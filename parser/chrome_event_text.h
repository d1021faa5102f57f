#pragma once

#include <string>

#include "parser/chrome_flows.h"
#include "parser/chrome_lanes.h"
#include "trace/timeline.h"

namespace pipetrace {

/// Appends one event as the JSON object of its complete (`X`) event. `origin` is what `ts` counts
/// from, not after the event's begin.
void appendChromeEvent(std::string& out, const Timeline& timeline, const Event& event,
                       const ChromeRow& row, ChromeFlows::Link link, Nanoseconds origin);

/// Appends one finite sample as the JSON object of its counter (`C`) event.
void appendChromeSample(std::string& out, const CounterSeries& series, const CounterSample& sample,
                        Nanoseconds origin);

/// Appends a metadata (`M`) event whose arguments are `arguments`, the inside of a JSON object.
/// tid < 0: it is about the process.
void appendChromeName(std::string& out, std::string_view what, std::int64_t pid, std::int64_t tid,
                      std::string_view arguments);

}  // namespace pipetrace
