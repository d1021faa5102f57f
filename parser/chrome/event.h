#pragma once

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
  std::string_view text;  ///< also what is nested deeper, as compact JSON
};

/// The fields of a Chrome trace event that we look at. Texts are those of the JSON that it was read
/// from, which must outlive them, or `own` ones.
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
  std::deque<std::string> own;            ///< texts that the JSON spells otherwise

  const ChromeArgument* find(std::string_view key) const;
  /// As if nothing had been read; the memory is kept.
  void clear();
  /// A text that lives as long as the event.
  std::string_view keep(std::string text);
};

/// Reads the JSON of one event into `event` (whose old contents are dropped). False when it is no
/// JSON object. Bytes that are no UTF-8 are replaced. Numbers of ts and dur are taken as digits.
bool parseChromeEvent(std::string_view json, ChromeEvent& event);

}  // namespace pipetrace
