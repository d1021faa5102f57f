#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "chart/search/parse_query.h"
#include "trace/nanoseconds.h"
#include "trace/text/typed_text.h"

namespace pipetrace {

/// A place in a run, as someone types it.
struct TypedPlace {
  enum class Kind : std::uint8_t { kTime, kMove, kStep };

  Kind kind = Kind::kTime;
  Nanoseconds time = 0;   ///< kTime: after the start of the run; kMove: from where the view is
  std::int64_t step = 0;  ///< kStep: its number in the log
};

/// Reads "12.5 ms", "+3 ms", "-1 s", "step 7" and "7" (a step); nothing for other texts.
inline std::optional<TypedPlace> placeOf(std::string_view text) {
  const std::string lower = lowerCase(trimmed(text));
  std::string_view rest = lower;
  TypedPlace place;
  if (rest.starts_with("step")) rest = trimmed(rest.substr(4));
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), place.step);
  const bool isNumber = error == std::errc() && end == rest.data() + rest.size();
  if (isNumber && !rest.starts_with('-')) {
    place.kind = TypedPlace::Kind::kStep;
    return place;
  }
  if (rest.size() != trimmed(lower).size()) return std::nullopt;  // "step" and no number
  const bool isBack = rest.starts_with('-');
  if (isBack || rest.starts_with('+')) {
    place.kind = TypedPlace::Kind::kMove;
    rest = trimmed(rest.substr(1));
    if (rest.starts_with('-')) return std::nullopt;
  }
  const auto time = parseDuration(rest);
  if (!time) return std::nullopt;
  place.time = isBack ? -*time : *time;
  return place;
}

}  // namespace pipetrace
