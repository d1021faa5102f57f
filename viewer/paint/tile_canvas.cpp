#include "viewer/paint/tile_canvas.h"

#include <algorithm>

namespace pipetrace {
namespace {

QRgb toRgb(Color color) { return qRgb(color.red, color.green, color.blue); }

}  // namespace

TileCanvas::TileCanvas(QImage& image, QPoint origin, QPainter& painter, FontCache& fonts)
    : painted_(painter, fonts),
      lines_(reinterpret_cast<QRgb*>(image.bits())),
      stride_(image.bytesPerLine() / static_cast<qsizetype>(sizeof(QRgb))),
      origin_(origin),
      clips_{QRect(origin, image.size())} {}

void TileCanvas::fill(PixelRect rect, Color color) {
  const QRect seen = QRect(rect.x, rect.y, rect.width, rect.height) & clips_.back();
  if (seen.isEmpty()) return;
  for (int y = seen.top(); y <= seen.bottom(); ++y) {
    std::fill_n(line(y) + (seen.left() - origin_.x()), seen.width(), toRgb(color));
  }
}

void TileCanvas::columns(int top, int height, ColumnEdge edge, std::span<const Column> columns) {
  const QRect clip = clips_.back();
  for (const Column& column : columns) {
    if (column.x < clip.left() || column.x > clip.right()) continue;
    const int from = edge == ColumnEdge::kTop ? top : top + height - column.height;
    const int first = std::max(from, clip.top());
    const int last = std::min(from + column.height, clip.bottom() + 1);
    QRgb* pixel = line(first) + (column.x - origin_.x());
    for (int y = first; y < last; ++y, pixel += stride_) *pixel = toRgb(column.color);
  }
}

void TileCanvas::pushClip(PixelRect rect) {
  clips_.push_back(QRect(rect.x, rect.y, rect.width, rect.height) & clips_.back());
  painted_.pushClip(rect);
}

void TileCanvas::popClip() {
  clips_.pop_back();
  painted_.popClip();
}

}  // namespace pipetrace
