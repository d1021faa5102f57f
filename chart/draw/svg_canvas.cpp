#include "chart/draw/svg_canvas.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "chart/draw/text_width.h"
#include "trace/text/utf8.h"

namespace pipetrace {
namespace {

/// Appends ` name="value"` for each.
void appendNumbers(std::string& out,
                   std::initializer_list<std::pair<const char*, int>> attributes) {
  for (const auto& [name, value] : attributes) {
    out += ' ';
    out += name;
    out += "=\"" + std::to_string(value) + '"';
  }
}

bool isXmlCharacter(char32_t c) {
  return c == '\t' || c == '\n' || c == '\r' || (c >= 0x20 && c != 0xFFFE && c != 0xFFFF);
}

const char* anchorOf(TextAlign align) {
  switch (align) {
    case TextAlign::kLeft: return "start";
    case TextAlign::kCenter: return "middle";
    case TextAlign::kRight: return "end";
  }
  return "start";
}

int anchorX(const PixelRect& box, TextAlign align) {
  switch (align) {
    case TextAlign::kLeft: return box.x;
    case TextAlign::kCenter: return box.x + box.width / 2;
    case TextAlign::kRight: return box.right();
  }
  return box.x;
}

}  // namespace

void appendXmlText(std::string& out, std::string_view text) {
  while (!text.empty()) {
    const std::string_view before = text;
    const char32_t c = takeCharacter(text);
    const std::string_view bytes = before.substr(0, before.size() - text.size());
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default:
        // A replacement character takes the place of bytes that are no character.
        out += c == kReplacementCharacter || !isXmlCharacter(c) ? std::string_view("\xEF\xBF\xBD")
                                                                : bytes;
    }
  }
}

SvgCanvas::SvgCanvas(int width, int height, std::string_view title) {
  out_ = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\"";
  appendNumbers(out_, {{"width", width}, {"height", height}});
  out_ += " viewBox=\"0 0 " + std::to_string(width) + ' ' + std::to_string(height) +
          "\" font-family=\"DejaVu Sans, Verdana, Helvetica, Arial, sans-serif\"";
  // Without stroke="none" ImageMagick gives everything a black outline.
  out_ += " shape-rendering=\"crispEdges\" stroke=\"none\">\n<title>";
  appendXmlText(out_, title);
  out_ += "</title>\n";
}

PixelRect SvgCanvas::clipped(const PixelRect& rect) const {
  return clips_.empty() ? rect : intersection(rect, clips_.back());
}

void SvgCanvas::fill(PixelRect rect, Color color) {
  rect = clipped(rect);
  if (rect.width <= 0 || rect.height <= 0) return;
  out_ += "<rect";
  appendNumbers(out_,
                {{"x", rect.x}, {"y", rect.y}, {"width", rect.width}, {"height", rect.height}});
  out_ += " fill=\"" + toHex(color) + "\"/>\n";
}

void SvgCanvas::hatch(PixelRect rect, const Hatching& hatching) {
  fill(rect, hatching.ground);
  rect = clipped(rect);
  if (rect.width <= 0 || rect.height <= 0) return;
  // Lines x + y = c, for all multiples c of the spacing that meet the rectangle.
  const int from = rect.x + rect.y;
  const int to = rect.right() + rect.bottom();
  std::string lines;
  for (int c = (from / kHatchSpacing + 1) * kHatchSpacing; c < to; c += kHatchSpacing) {
    const int left = std::max(rect.x, c - rect.bottom());
    const int right = std::min(rect.right(), c - rect.y);
    lines += 'M' + std::to_string(left) + ' ' + std::to_string(c - left) + 'L' +
             std::to_string(right) + ' ' + std::to_string(c - right);
  }
  if (lines.empty()) return;
  out_ += "<path d=\"" + lines + "\" fill=\"none\" stroke=\"" + toHex(hatching.stroke) +
          "\" stroke-width=\"1\" shape-rendering=\"auto\"/>\n";
}

void SvgCanvas::columns(int top, int height, ColumnEdge edge, std::span<const Column> columns) {
  for (std::size_t i = 0; i < columns.size();) {
    // Equal neighbours become one rectangle.
    std::size_t next = i + 1;
    while (next < columns.size() && columns[next].x == columns[next - 1].x + 1 &&
           columns[next].height == columns[i].height && columns[next].color == columns[i].color) {
      ++next;
    }
    const int y = edge == ColumnEdge::kTop ? top : top + height - columns[i].height;
    fill({columns[i].x, y, static_cast<int>(next - i), columns[i].height}, columns[i].color);
    i = next;
  }
}

void SvgCanvas::text(PixelRect box, std::string_view text, const TextStyle& style) {
  if (text.empty()) return;
  const int anchor = anchorX(box, style.align);
  const int middle = box.y + box.height / 2;
  if (!clips_.empty() && !clips_.back().contains(box.x + box.width / 2, middle)) return;
  // The baseline that centres capitals and digits, which are 0.73 of the size high.
  const int y = box.y + (box.height * 100 + style.size * 73 + 100) / 200;
  texts_ += "<text";
  appendNumbers(texts_, {{"x", anchor}, {"y", y}, {"font-size", style.size}});
  if (style.align != TextAlign::kLeft) {
    texts_ += std::string(" text-anchor=\"") + anchorOf(style.align) + '"';
  }
  if (style.bold) texts_ += " font-weight=\"bold\"";
  texts_ += " fill=\"" + toHex(style.color) + "\">";
  appendXmlText(texts_, text);
  texts_ += "</text>\n";
}

int SvgCanvas::textWidth(std::string_view text, const TextStyle& style) {
  return estimatedTextWidth(text, style);
}

void SvgCanvas::pushClip(PixelRect rect) { clips_.push_back(clipped(rect)); }

void SvgCanvas::popClip() { clips_.pop_back(); }

std::string SvgCanvas::finish() {
  out_ += std::exchange(texts_, {}) + "</svg>\n";
  return std::exchange(out_, {});
}

}  // namespace pipetrace
