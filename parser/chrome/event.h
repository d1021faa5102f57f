#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "parser/chrome/arrow_ends.h"
#include "parser/foreign/chrome_process.h"
#include "trace/nanoseconds.h"

namespace pipetrace {

/// One `"key": value` of an event's args. Its texts are the event's.
struct ChromeArgument {
  enum class Type : std::uint8_t { kInteger, kReal, kText };

  std::string_view key;
  Type type = Type::kInteger;
  std::int64_t integer = 0;
  double real = 0;
  std::string_view text;  ///< also a nested value, as compact JSON
};

/// The fields of a Chrome trace event that the reader uses. Texts are parts of the JSON, which must
/// outlive them, or are in `own`.
struct ChromeEvent {
  ChromeEvent() = default;
  ChromeEvent(ChromeEvent&&) = default;
  ChromeEvent& operator=(ChromeEvent&&) = default;

  std::string_view phase;
  std::string_view name;
  std::string_view category;
  ChromeId pid;
  ChromeId tid;
  std::optional<Nanoseconds> ts;
  std::optional<Nanoseconds> dur;
  bool badTime = false;  ///< ts or dur was there but is no time that fits
  ChromeArrowFields arrow;
  std::vector<ChromeArgument> arguments;  ///< in the order of the file
  std::deque<std::string> own;            ///< texts that are not in the JSON as they are

  const ChromeArgument* find(std::string_view key) const;
  /// Empties the event; the memory is kept.
  void clear();
  /// Stores a text for as long as the event lives.
  std::string_view keep(std::string text);
};

/// Reads the JSON of one event into `event`, whose old contents are dropped. False when it is no
/// JSON object. Bytes that are no UTF-8 are replaced. `ts` and `dur` are read digit by digit.
bool parseChromeEvent(std::string_view json, ChromeEvent& event);

/// Reads by hand the event that `text` begins with, if it is plain, as nearly all events are. A
/// plain event is one object of texts without escapes, numbers without exponents and words, with
/// one such object under "args". Returns its length. Returns 0, and leaves `event` unusable, for
/// any other event, and where the text ends before the event. From each text that it reads,
/// parseChromeEvent() reads the same.
std::size_t readPlainChromeEvent(std::string_view text, ChromeEvent& event);

}  // namespace pipetrace
