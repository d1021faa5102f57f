#include "chart/draw/svg_canvas.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <utility>

#include "chart/draw/clip_shapes.h"
#include "chart/draw/hatch_lines.h"
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

/// Appends a number with at most two decimals.
void appendDecimal(std::string& out, double value) {
  const auto hundredths = static_cast<long long>(std::llround(value * 100));
  const long long size = std::llabs(hundredths);
  if (hundredths < 0) out += '-';
  out += std::to_string(size / 100);
  if (size % 100 == 0) return;
  out += '.';
  out += static_cast<char>('0' + size / 10 % 10);
  if (size % 10 != 0) out += static_cast<char>('0' + size % 10);
}

void appendPoint(std::string& out, const PixelPoint& point) {
  appendDecimal(out, point.x);
  out += ' ';
  appendDecimal(out, point.y);
}

/// Path data: "M1 2L3 4".
std::string linesThrough(std::span<const PixelPoint> points) {
  std::string data;
  for (const PixelPoint& point : points) {
    data += data.empty() ? 'M' : 'L';
    appendPoint(data, point);
  }
  return data;
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

PixelRect SvgCanvas::clip() const {
  constexpr int kEndless = 1 << 20;
  if (clips_.empty()) return {-kEndless, -kEndless, 2 * kEndless, 2 * kEndless};
  return clips_.back();
}

PixelRect SvgCanvas::clipped(const PixelRect& rect) const { return intersection(rect, clip()); }

void SvgCanvas::rect(PixelRect rect, Color color, double opacity) {
  rect = clipped(rect);
  if (rect.width <= 0 || rect.height <= 0) return;
  out_ += "<rect";
  appendNumbers(out_,
                {{"x", rect.x}, {"y", rect.y}, {"width", rect.width}, {"height", rect.height}});
  out_ += " fill=\"" + toHex(color);
  if (opacity < 1) {
    out_ += "\" fill-opacity=\"";
    appendDecimal(out_, opacity);
  }
  out_ += "\"/>\n";
}

void SvgCanvas::path(std::string_view data, const Stroke& stroke) {
  out_ += "<path d=\"";
  out_ += data;
  out_ += "\" fill=\"none\" stroke=\"" + toHex(stroke.color) + "\" stroke-width=\"";
  appendDecimal(out_, stroke.width);
  if (stroke.opacity < 1) {
    out_ += "\" stroke-opacity=\"";
    appendDecimal(out_, stroke.opacity);
  }
  if (stroke.isDashed) out_ += "\" stroke-dasharray=\"4 3";
  out_ += "\" stroke-linejoin=\"round\" shape-rendering=\"auto\"/>\n";
}

void SvgCanvas::line(std::span<const PixelPoint> points, const Stroke& stroke) {
  for (const PixelPoints& part : lineInside(points, clip())) {
    path(linesThrough(part), stroke);
  }
}

void SvgCanvas::curve(const std::array<PixelPoint, 4>& points, const Stroke& stroke) {
  const PixelRect clip = this->clip();
  const bool isInside = std::all_of(points.begin(), points.end(), [&](const PixelPoint& p) {
    return p.x >= clip.x && p.x <= clip.right() && p.y >= clip.y && p.y <= clip.bottom();
  });
  if (!isInside) return line(pointsAlong(points), stroke);
  std::string data = "M";
  appendPoint(data, points[0]);
  for (std::size_t i = 1; i < points.size(); ++i) {
    data += i == 1 ? 'C' : ' ';
    appendPoint(data, points[i]);
  }
  path(data, stroke);
}

void SvgCanvas::polygon(std::span<const PixelPoint> corners, Color color) {
  const PixelPoints inside = polygonInside(corners, clip());
  if (inside.empty()) return;
  out_ += "<path d=\"" + linesThrough(inside) + "Z\" fill=\"" + toHex(color) +
          "\" shape-rendering=\"auto\"/>\n";
}

void SvgCanvas::veil(PixelRect rect, Color color, double opacity) {
  this->rect(rect, color, opacity);
}

void SvgCanvas::fill(PixelRect rect, Color color) { this->rect(rect, color); }

void SvgCanvas::hatch(PixelRect rect, const Hatching& hatching) {
  fill(rect, hatching.ground);
  rect = clipped(rect);
  if (rect.width <= 0 || rect.height <= 0) return;
  for (const HatchLines& lines : linesOf(hatching.pattern)) {
    std::string data;
    for (const auto& [from, to] : linesIn(rect, lines.direction)) {
      data += linesThrough(std::array{from, to});
    }
    if (data.empty()) continue;
    out_ += "<path d=\"" + data + "\" fill=\"none\" stroke=\"" + toHex(hatching.stroke) +
            "\" stroke-width=\"1";
    if (lines.isDashed()) {
      const auto [dash, gap] = dashesOf(lines);
      out_ += "\" stroke-dasharray=\"";
      appendPoint(out_, {dash, gap});
    }
    out_ += "\" shape-rendering=\"auto\"/>\n";
  }
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

std::string renderSvg(const Drawing& drawing, const std::string& title) {
  SvgCanvas canvas(drawing.width(), drawing.height(), title);
  drawing.draw(canvas);
  return canvas.finish();
}

std::string renderSvg(const ChartModel& model, const PictureOptions& options) {
  return renderSvg(ChartPicture(model, options),
                   options.title.empty() ? titleOf(model) : options.title);
}

std::string renderSvg(const Timeline& timeline, const PictureOptions& options, const Theme& theme) {
  return renderSvg(ChartModel(timeline, theme), options);
}

}  // namespace pipetrace
