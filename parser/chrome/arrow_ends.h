#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "parser/foreign/chrome_process.h"
#include "trace/nanoseconds.h"

namespace pipetrace {

struct ChromeEvent;

/// The fields of a Chrome trace event that say of which arrow it is an end, or has one.
struct ChromeArrowFields {
  std::optional<std::uint64_t> id;
  std::optional<std::uint64_t> bindId;
  bool flowIn = false;
  bool flowOut = false;
  bool bindsEnclosing = false;  ///< `"bp": "e"`
  bool isOfThread = true;       ///< of an instant: no wider scope is said in `s`

  /// Each takes a field of the event, whatever its key is. Numbers are as they are; texts are
  /// hexadecimal, and what is none is no id.
  void takeNumber(std::string_view key, std::string_view digits);
  void takeText(std::string_view key, std::string_view text);
  void takeWord(std::string_view key, std::string_view word);
};

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
  ChromeProcess::Thread* thread = nullptr;  ///< set once the threads are known
  Nanoseconds time = 0;
  Nanoseconds length = -1;   ///< of the `X` event that has it; below 0: it is of no such event
  std::int64_t element = 0;  ///< which of the trace's elements it is
  std::uint64_t arrow = 0;   ///< all ends of an arrow have the same, and no others
};

/// The end that an event is or has; nothing where there is none, or one that says not of what arrow
/// it is. The event must have a time.
std::optional<ChromeArrowEnd> arrowEndOf(const ChromeEvent& event, std::int64_t element);

/// How many arrows these ends make, as Perfetto's trace processor (v52) counts them in its table
/// `flow`. In the order of time, a begin makes an arrow known, and each step or end of a known
/// arrow counts. None counts on a thread where no span is open or has been the last one. An end at
/// the next span counts once there is one, whether its arrow is known or not.
///
/// `hasSpans`: there are `X` events in the trace, on whatever thread. To be called while the
/// threads have their spans and edges. O(n log n) in what is on those threads that have an end.
std::int64_t countChromeArrows(const std::vector<ChromeArrowEnd>& ends, bool hasSpans);

}  // namespace pipetrace
