#include "viewer/paint/qt_canvas.h"

#include <QGuiApplication>
#include <QImage>
#include <QPaintEngine>
#include <algorithm>

#include "chart/draw/hatch_lines.h"

namespace pipetrace {
namespace {

constexpr std::size_t kMostWidths = 100'000;

QPointF toQPoint(const PixelPoint& point) { return {point.x, point.y}; }

/// `pixels`: of the device, per pixel of the chart.
QBrush hatchBrush(const Hatching& hatching, double pixels) {
  const int size = qRound(kHatchSpacing * pixels);
  QImage tile(size, size, QImage::Format_RGB32);
  tile.fill(toQColor(hatching.ground));
  QPainter painter(&tile);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.scale(1.0 * size / kHatchSpacing, 1.0 * size / kHatchSpacing);
  // Those of its neighbours, too, so that they meet at the edges of the tile.
  constexpr PixelRect kAround{-kHatchSpacing, -kHatchSpacing, 3 * kHatchSpacing, 3 * kHatchSpacing};
  for (const HatchLines& lines : linesOf(hatching.pattern)) {
    painter.setPen(hatchPen(hatching.stroke, lines));
    for (const auto& [from, to] : linesIn(kAround, lines.direction)) {
      painter.drawLine(toQPoint(from), toQPoint(to));
    }
  }
  painter.end();
  QBrush brush(tile);
  if (size != kHatchSpacing) {
    brush.setTransform(
        QTransform::fromScale(1.0 * kHatchSpacing / size, 1.0 * kHatchSpacing / size));
  }
  return brush;
}

/// The columns on a transparent image with the pixels of the device, as far as they need.
QImage columnImage(int top, int height, ColumnEdge edge, std::span<const Column> columns,
                   const QTransform& device) {
  const auto xOf = [&](int x) { return qRound(x * device.m11() + device.dx()); };
  const auto yOf = [&](int y) { return qRound(y * device.m22() + device.dy()); };
  const int left = xOf(columns.front().x);
  const int first = yOf(top);
  QImage image(xOf(columns.back().x + 1) - left, yOf(top + height) - first,
               QImage::Format_ARGB32_Premultiplied);
  image.fill(Qt::transparent);
  for (int y = 0; y < height; ++y) {
    const int fromEdge = edge == ColumnEdge::kTop ? y : height - 1 - y;
    for (int line = yOf(top + y) - first; line < yOf(top + y + 1) - first; ++line) {
      auto* const pixels = reinterpret_cast<QRgb*>(image.scanLine(line));
      for (const Column& column : columns) {
        if (fromEdge >= column.height) continue;
        std::fill(pixels + xOf(column.x) - left, pixels + xOf(column.x + 1) - left,
                  qRgb(column.color.red, column.color.green, column.color.blue));
      }
    }
  }
  return image;
}

QRect toQRect(PixelRect r) { return {r.x, r.y, r.width, r.height}; }

}  // namespace

FontCache::Entry& FontCache::entry(const TextStyle& style) {
  const std::pair<int, bool> key(style.size, style.bold);
  const auto found = entries_.find(key);
  if (found != entries_.end()) return found->second;
  QFont font = QGuiApplication::font();
  font.setPixelSize(style.size);
  font.setBold(style.bold);
  return entries_.emplace(key, Entry(font)).first->second;
}

int FontCache::width(std::string_view text, const TextStyle& style) {
  Entry& e = entry(style);
  std::string key(text);
  const auto found = e.widths.find(key);
  if (found != e.widths.end()) return found->second;
  if (e.widths.size() >= kMostWidths) e.widths.clear();
  const int width = e.metrics.horizontalAdvance(
      QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size())));
  e.widths.emplace(std::move(key), width);
  return width;
}

QPen hatchPen(Color color, const HatchLines& lines) {
  QPen pen(toQColor(color), 1.0, Qt::SolidLine, Qt::FlatCap);
  const auto [dash, gap] = dashesOf(lines);
  if (lines.isDashed()) pen.setDashPattern({dash, gap});
  return pen;
}

QtCanvas::QtCanvas(QPainter& painter, FontCache& fonts) : painter_(painter), fonts_(fonts) {
  painter_.setPen(toQColor(pen_));
}

void QtCanvas::fill(PixelRect rect, Color color) {
  painter_.fillRect(toQRect(rect), toQColor(color));
}

void QtCanvas::hatch(PixelRect rect, const Hatching& hatching) {
  auto known = std::find_if(brushes_.begin(), brushes_.end(),
                            [&](const auto& brush) { return brush.first == hatching; });
  if (known == brushes_.end()) {
    brushes_.emplace_back(hatching, hatchBrush(hatching, painter_.deviceTransform().m11()));
    known = brushes_.end() - 1;
  }
  painter_.setBrushOrigin(rect.x, rect.y);  // the lines move with their bubble
  painter_.fillRect(toQRect(rect), known->second);
}

void QtCanvas::columns(int top, int height, ColumnEdge edge, std::span<const Column> columns) {
  if (columns.empty() || height <= 0) return;
  // Setting thousands of pixels is cheaper than painting them. On a scaled image these are its own
  // pixels: scaling a picture of columns would show where it begins.
  const bool isImage = painter_.paintEngine()->type() == QPaintEngine::Raster;
  const QTransform device = isImage ? painter_.deviceTransform() : QTransform();
  if (device.type() > QTransform::TxTranslate && device.type() <= QTransform::TxScale) {
    const QTransform world = painter_.worldTransform();
    const QPoint origin = device.map(QPointF(columns.front().x, top)).toPoint();
    const QImage image = columnImage(top, height, edge, columns, device);
    painter_.setWorldTransform(QTransform::fromTranslate(origin.x(), origin.y()) *
                               device.inverted() * world);
    painter_.drawImage(0, 0, image);
    painter_.setWorldTransform(world);
    return;
  }
  const QImage image = columnImage(top, height, edge, columns, QTransform());
  painter_.drawImage(columns.front().x, top, image);
}

void QtCanvas::text(PixelRect box, std::string_view text, const TextStyle& style) {
  if (text.empty()) return;
  const FontCache::Entry& entry = fonts_.entry(style);
  if (font_ != &entry) {
    painter_.setFont(entry.font);
    font_ = &entry;
  }
  if (pen_ != style.color) {
    painter_.setPen(toQColor(style.color));
    pen_ = style.color;
  }
  int x = box.x;
  if (style.align == TextAlign::kCenter) x += (box.width - textWidth(text, style)) / 2;
  if (style.align == TextAlign::kRight) x += box.width - textWidth(text, style);
  const int baseline = box.y + (box.height + entry.metrics.capHeight()) / 2;
  painter_.drawText(x, baseline,
                    QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size())));
}

int QtCanvas::textWidth(std::string_view text, const TextStyle& style) {
  return fonts_.width(text, style);
}

void QtCanvas::stroke(const QPainterPath& path, const Stroke& stroke) {
  QColor color = toQColor(stroke.color);
  color.setAlphaF(static_cast<float>(stroke.opacity));
  QPen pen(color, stroke.width, Qt::SolidLine, Qt::FlatCap, Qt::RoundJoin);
  // Dashes of 4 and 3 pixels; a pen counts them in its widths.
  if (stroke.isDashed) pen.setDashPattern({4 / stroke.width, 3 / stroke.width});
  painter_.save();  // font and pen stay those of texts
  painter_.setRenderHint(QPainter::Antialiasing);
  painter_.strokePath(path, pen);
  painter_.restore();
}

void QtCanvas::line(std::span<const PixelPoint> points, const Stroke& stroke) {
  if (points.size() < 2) return;
  QPainterPath path(toQPoint(points.front()));
  for (const PixelPoint& point : points.subspan(1)) path.lineTo(toQPoint(point));
  this->stroke(path, stroke);
}

void QtCanvas::curve(const std::array<PixelPoint, 4>& points, const Stroke& stroke) {
  QPainterPath path(toQPoint(points[0]));
  path.cubicTo(toQPoint(points[1]), toQPoint(points[2]), toQPoint(points[3]));
  this->stroke(path, stroke);
}

void QtCanvas::polygon(std::span<const PixelPoint> corners, Color color) {
  if (corners.size() < 3) return;
  QPainterPath path(toQPoint(corners.front()));
  for (const PixelPoint& corner : corners.subspan(1)) path.lineTo(toQPoint(corner));
  painter_.save();
  painter_.setRenderHint(QPainter::Antialiasing);
  painter_.fillPath(path, toQColor(color));
  painter_.restore();
}

void QtCanvas::veil(PixelRect rect, Color color, double opacity) {
  QColor veil = toQColor(color);
  veil.setAlphaF(static_cast<float>(opacity));
  painter_.fillRect(toQRect(rect), veil);
}

void QtCanvas::pushClip(PixelRect rect) {
  painter_.save();
  painter_.setClipRect(toQRect(rect), Qt::IntersectClip);
}

void QtCanvas::popClip() {
  painter_.restore();
  // restore() brought back an older font and pen.
  font_ = nullptr;
  pen_ = {};
  painter_.setPen(toQColor(pen_));
}

}  // namespace pipetrace
