#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "parser/foreign/chrome_process.h"
#include "trace/nanoseconds.h"

namespace pipetrace {

struct ChromeEvent;

/// The fields of a Chrome trace event that make it an end of an arrow, or give it one.
struct ChromeArrowFields {
  std::optional<std::uint64_t> id;
  std::optional<std::uint64_t> bindId;
  bool flowIn = false;
  bool flowOut = false;
  bool bindsEnclosing = false;  ///< `"bp": "e"`
  bool isOfThread = true;       ///< of an instant: its `s` names no wider scope

  /// Each takes a field of the event, whatever its key is. Numbers are taken as they are. Texts are
  /// hexadecimal; any other text gives no id.
  void takeNumber(std::string_view key, std::string_view digits);
  void takeText(std::string_view key, std::string_view text);
  void takeWord(std::string_view key, std::string_view word);
};

/// A place where an arrow of a Chrome trace begins, ends or goes on: an event of phase `s`, `t` or
/// `f`, or a span with `bind_id`. Also an instant, which is no event of a timeline, but may have
/// the end of an arrow on it.
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
  Nanoseconds length = -1;         ///< of the `X` event that has it; below 0: no such event has it
  std::int64_t element = 0;        ///< which of the trace's elements it is
  std::uint64_t arrow = 0;         ///< all ends of an arrow have the same, and no others
  bool isForwardBackward = false;  ///< of category `fwdbwd`: from an operator to its backward
};

/// The end that an event is or has. Nothing if there is none, or if it does not name its arrow. The
/// event must have a time.
std::optional<ChromeArrowEnd> arrowEndOf(const ChromeEvent& event, std::int64_t element);

/// The number of arrows that these ends make, as Perfetto's trace processor (v52) counts them in
/// its table `flow`. In the order of time, a begin makes an arrow known, and each step or end of a
/// known arrow counts. It counts only on a thread where a span is open or was the last one. An end
/// at the next span counts once there is one, whether its arrow is known or not.
///
/// `hasSpans`: the trace has `X` events, on whatever thread. Call it while the threads have their
/// spans and edges. O(n log n) in the events of the threads that have an end.
std::int64_t countChromeArrows(const std::vector<ChromeArrowEnd>& ends, bool hasSpans);

}  // namespace pipetrace
