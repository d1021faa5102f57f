#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/nanoseconds.h"

namespace pipetrace {

/// A pid or tid: a number as a rule, a text in some programs' traces.
struct ChromeId {
  bool isText = false;
  std::int64_t number = 0;
  std::string text;

  auto operator<=>(const ChromeId&) const = default;
};

/// One `"key": value` of an event's args.
struct ChromeArgument {
  enum class Type : std::uint8_t { kInteger, kReal, kText };

  std::string key;
  Type type = Type::kInteger;
  std::int64_t integer = 0;
  double real = 0;
  std::string text;  ///< also what is nested deeper, as compact JSON
};

/// The fields of a Chrome trace event that we look at.
struct ChromeEvent {
  std::string phase;
  std::string name;
  std::string category;
  ChromeId pid;
  ChromeId tid;
  bool hasPid = false;
  bool hasTid = false;
  std::optional<Nanoseconds> ts;
  std::optional<Nanoseconds> dur;
  bool badTime = false;                   ///< ts or dur was there but is no time that fits
  std::vector<ChromeArgument> arguments;  ///< in the order of the file

  const ChromeArgument* find(std::string_view key) const;
};

/// Reads the JSON of one event into `event` (whose old contents are dropped). False when it is no
/// JSON object. Bytes that are no UTF-8 are replaced. Numbers of ts and dur are taken as digits.
bool parseChromeEvent(std::string_view json, ChromeEvent& event);

}  // namespace pipetrace
