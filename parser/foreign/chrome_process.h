#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "trace/event.h"
#include "trace/text/log_numbers.h"
#include "trace/timeline.h"

namespace pipetrace {

/// A pid or tid: a number as a rule, a text in some programs' traces.
struct ChromeId {
  bool isText = false;
  std::int64_t number = 0;
  std::string text;

  auto operator<=>(const ChromeId&) const = default;

  /// Sets a text. A text that is a number, as some programs write them, becomes that number.
  void setText(std::string_view from);
};

inline std::string toText(const ChromeId& id) {
  return id.isText ? id.text : std::to_string(id.number);
}

/// One process of a Chrome trace: its threads and what happened on them.
struct ChromeProcess {
  /// A `B` or `E` that waits for its partner.
  struct Edge {
    Event event;  ///< begin is the edge's time
    bool isBegin = false;
    std::int64_t line = 0;
    std::int64_t element = 0;  ///< which of the trace's elements it is
  };

  struct Thread {
    std::string name;
    std::string lane;  ///< in a profile of ours: the lane that the row belongs to
    std::vector<Event> events;
    std::vector<Edge> edges;
  };

  std::string name;
  std::string labels;
  std::int64_t sortIndex = 0;
  std::map<ChromeId, Thread> threads;
  std::map<std::string, CounterSeries> counters;
};

inline void ChromeId::setText(std::string_view from) {
  const auto value = parseNumber<std::int64_t>(from);
  isText = !value || std::to_string(*value) != from;
  number = isText ? 0 : *value;
  text = isText ? from : std::string_view();
}

}  // namespace pipetrace
