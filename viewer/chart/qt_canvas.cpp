#include "viewer/chart/qt_canvas.h"

#include <QImage>
#include <QPen>
#include <algorithm>

namespace pipetrace {
namespace {

/// `pixels`: of the device, per pixel of the chart.
QBrush hatchBrush(const Hatching& hatching, double pixels) {
  const int size = qRound(kHatchSpacing * pixels);
  QImage tile(size, size, QImage::Format_RGB32);
  tile.fill(toQColor(hatching.ground));
  QPainter painter(&tile);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.scale(1.0 * size / kHatchSpacing, 1.0 * size / kHatchSpacing);
  painter.setPen(QPen(toQColor(hatching.stroke), 1.0));
  // Three lines, so that they meet at the edges of the tile.
  for (const int x : {-kHatchSpacing, 0, kHatchSpacing}) {
    painter.drawLine(QPointF(x - 1, kHatchSpacing + 1), QPointF(x + kHatchSpacing + 1, -1));
  }
  painter.end();
  QBrush brush(tile);
  if (size != kHatchSpacing) {
    brush.setTransform(
        QTransform::fromScale(1.0 * kHatchSpacing / size, 1.0 * kHatchSpacing / size));
  }
  return brush;
}

QPointF toQPoint(const PixelPoint& point) { return {point.x, point.y}; }

QRect toQRect(PixelRect r) { return {r.x, r.y, r.width, r.height}; }

}  // namespace

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
    brushes_.emplace_back(hatching, hatchBrush(hatching, painter_.device()->devicePixelRatioF()));
    known = brushes_.end() - 1;
  }
  painter_.fillRect(toQRect(rect), known->second);
}

void QtCanvas::columns(int top, int height, ColumnEdge edge, std::span<const Column> columns) {
  if (columns.empty() || height <= 0) return;
  // Setting thousands of pixels is cheaper than painting them.
  const int left = columns.front().x;
  QImage image(columns.back().x - left + 1, height, QImage::Format_ARGB32_Premultiplied);
  image.fill(Qt::transparent);
  for (int y = 0; y < height; ++y) {
    auto* line = reinterpret_cast<QRgb*>(image.scanLine(y));
    const int fromEdge = edge == ColumnEdge::kTop ? y : height - 1 - y;
    for (const Column& column : columns) {
      if (fromEdge >= column.height) continue;
      line[column.x - left] = qRgb(column.color.red, column.color.green, column.color.blue);
    }
  }
  painter_.drawImage(left, top, image);
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
