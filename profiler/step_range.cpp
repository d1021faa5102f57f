#include "profiler/step_range.h"

#include <charconv>
#include <string>

#include "trace/error.h"

namespace pipetrace {

StepRange parseStepRange(std::string_view text) {
  const auto refusal = [text](const char* why) {
    return Error('"' + std::string(text) + "\" is no range of steps: " + why);
  };
  const char* const limit = "steps go up to 2147483646";
  const char* const form = "write A:B for the steps A to B - 1, as in 3:6, or one step";
  const auto number = [&](std::string_view part, std::int32_t otherwise) {
    if (part.empty()) return otherwise;
    std::int32_t step = 0;
    const auto result = std::from_chars(part.data(), part.data() + part.size(), step);
    if (result.ec == std::errc::invalid_argument || result.ptr != part.data() + part.size()) {
      throw refusal(form);
    }
    if (part.front() == '-') throw refusal("steps count from 0");
    if (result.ec != std::errc()) throw refusal(limit);
    return step;
  };
  if (text.find_first_not_of(':') == std::string_view::npos) throw refusal(form);
  const std::size_t colon = text.find(':');
  StepRange range;
  range.first = number(text.substr(0, colon), range.first);
  if (colon != std::string_view::npos) {
    range.end = number(text.substr(colon + 1), range.end);
  } else if (range.first == range.end) {
    throw refusal(limit);  // no number could follow it
  } else {
    range.end = range.first + 1;
  }
  return range;
}

}  // namespace pipetrace
