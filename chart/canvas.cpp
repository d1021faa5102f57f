#include "chart/canvas.h"

#include "chart/utf8.h"

namespace pipetrace {

std::string elided(const TextMeasure& measure, std::string_view text, const TextStyle& style,
                   int width) {
  if (measure(text, style) <= width) return std::string(text);
  std::string best;
  std::string_view rest = text;
  while (!rest.empty()) {
    takeCharacter(rest);
    std::string shorter(text.substr(0, text.size() - rest.size()));
    shorter += "…";
    if (measure(shorter, style) > width) break;
    best = std::move(shorter);
  }
  return best;
}

}  // namespace pipetrace
