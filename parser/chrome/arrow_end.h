#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "parser/chrome/event.h"
#include "parser/chrome/process.h"
#include "trace/nanoseconds.h"

namespace pipetrace {

/// Where an arrow of a Chrome trace begins, ends, or goes on: an event of phase `s`, `t` or `f`, or
/// a span with `bind_id`. Also an instant, which is no event of ours, but may have the end of an
/// arrow on it.
struct ChromeArrowEnd {
  enum class What : std::uint8_t {
    kBegin,
    kStep,
    kEnd,
    kEndAtNext,  ///< at the span or instant that comes next on the thread
    kInstant,
  };

  What what = What::kBegin;
  ChromeProcess::Thread* thread = nullptr;  ///< set by who knows the threads
  Nanoseconds time = 0;
  Nanoseconds length = -1;   ///< of the `X` event that has it; below 0: it is of no such event
  std::int64_t element = 0;  ///< which of the trace's elements it is
  std::uint64_t arrow = 0;   ///< all ends of an arrow have the same, and no others
};

/// The end that an event is or has; nothing where there is none, or one that says not of what arrow
/// it is. The event must have a time.
std::optional<ChromeArrowEnd> arrowEndOf(const ChromeEvent& event, std::int64_t element);

}  // namespace pipetrace
