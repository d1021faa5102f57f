#include "parser/chrome/arrow_end.h"

#include <functional>

namespace pipetrace {
namespace {

using What = ChromeArrowEnd::What;

/// Arrows of the older spelling are told apart by category and name, too.
std::uint64_t arrowOf(std::uint64_t id, std::string_view category, std::string_view name) {
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;  // 2^64 over the golden ratio spreads the bits
  const std::hash<std::string_view> hash;
  std::uint64_t arrow = id * kOdd ^ hash(category);
  arrow = arrow * kOdd ^ hash(name);
  return arrow * kOdd;
}

std::optional<What> whatOf(const ChromeEvent& event) {
  if (event.phase == "s") return What::kBegin;
  if (event.phase == "t") return What::kStep;
  if (event.phase == "f") return event.arrow.bindsEnclosing ? What::kEnd : What::kEndAtNext;
  if (event.arrow.flowIn && event.arrow.flowOut) return What::kStep;
  if (event.arrow.flowOut) return What::kBegin;
  if (event.arrow.flowIn) return What::kEnd;
  return std::nullopt;
}

}  // namespace

std::optional<ChromeArrowEnd> arrowEndOf(const ChromeEvent& event, std::int64_t element) {
  const bool isInstant = event.phase == "i" || event.phase == "I" || event.phase == "R";
  if (isInstant) {
    if (!event.arrow.isOfThread) return std::nullopt;
    return ChromeArrowEnd{.what = What::kInstant, .time = *event.ts, .element = element};
  }
  const bool isSpan = event.phase == "X" || event.phase == "B";
  const std::optional<std::uint64_t>& id = isSpan ? event.arrow.bindId : event.arrow.id;
  const std::optional<What> what = whatOf(event);
  if (!id || !what) return std::nullopt;
  return ChromeArrowEnd{.what = *what,
                        .time = *event.ts,
                        .length = event.phase == "X" ? event.dur.value_or(0) : -1,
                        .element = element,
                        .arrow = isSpan ? *id : arrowOf(*id, event.category, event.name)};
}

}  // namespace pipetrace
