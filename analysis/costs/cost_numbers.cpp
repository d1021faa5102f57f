#include "analysis/costs/cost_numbers.h"

#include <optional>

#include "trace/text/decimal_time.h"

namespace pipetrace {

std::int64_t costIn(std::string_view key, const std::string& text,
                    const std::function<void(const std::string& what)>& fail) {
  // A plan adds up thousands of them.
  constexpr std::int64_t kLargest = kNsMax / 1'000'000;
  const bool isTime = key.ends_with("_ms");
  const std::optional<std::int64_t> value = parseDecimalTime(text, isTime ? kNsPerMs : 1);
  if (value && *value < 0) fail("is " + text + "; no cost is negative");
  const bool hasPoint = text.find('.') != std::string::npos;
  if (value && *value <= kLargest && (isTime || !hasPoint)) return *value;
  fail("is " + text + ", which is no " +
       (isTime ? "time in milliseconds; write it like 10 or 0.25, up to " + milliseconds(kLargest)
               : std::string("whole number") + (key.ends_with("_bytes") ? " of bytes" : "")));
  return 0;
}

std::string milliseconds(Nanoseconds time) {
  std::string text;
  appendMilliseconds(text, time);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

std::string invalidJson(const std::string& name, const std::exception& error) {
  // "[json.exception.parse_error.101] parse error at line 1, column 2: …"
  const std::string text = error.what();
  const std::size_t from = text.find("at line");
  return name + ": invalid JSON " + (from == std::string::npos ? text : text.substr(from));
}

}  // namespace pipetrace
