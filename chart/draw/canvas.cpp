#include "chart/draw/canvas.h"

#include "trace/text/utf8.h"

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

std::vector<std::string> wrapped(const TextMeasure& measure, std::string_view text,
                                 const TextStyle& style, int width, std::size_t most) {
  std::vector<std::string> lines;
  while (!text.empty() && lines.size() + 1 < most && measure(text, style) > width) {
    std::size_t end = 0;  // of the last word that fits
    for (std::size_t space = text.find(' '); space != std::string_view::npos;
         space = text.find(' ', space + 1)) {
      if (measure(text.substr(0, space), style) > width) break;
      end = space;
    }
    if (end == 0) break;  // a word wider than the line
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  if (!text.empty()) lines.push_back(elided(measure, text, style, width));
  return lines;
}

}  // namespace pipetrace
