#include "chart/search/place_text.h"

#include <charconv>
#include <string>

#include "chart/search/parse_query.h"
#include "trace/text/typed_text.h"

namespace pipetrace {
std::optional<TypedPlace> placeOf(std::string_view text) {
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
