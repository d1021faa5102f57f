#include "viewer/export/pdf_canvas.h"

#include <QLineF>
#include <QList>
#include <QPen>
#include <algorithm>

namespace pipetrace {
void PdfCanvas::hatch(PixelRect rect, const Hatching& hatching) {
  if (rect.width <= 0 || rect.height <= 0) return;
  areas_.fill(rect, hatching.ground);
  // Lines from the lower left to the upper right, on one grid for all areas, cut at the edges.
  const int bottom = rect.bottom();
  const int first = (rect.x + rect.y) / kHatchSpacing;
  const int last = (rect.right() + bottom) / kHatchSpacing;
  QList<QLineF> lines;
  for (int i = first; i <= last; ++i) {
    const double sum = i * kHatchSpacing;  // x + y on this line
    const double left = std::max<double>(rect.x, sum - bottom);
    const double right = std::min<double>(rect.right(), sum - rect.y);
    if (left < right) lines.push_back({left, sum - left, right, sum - right});
  }
  painter_.save();
  painter_.setPen(QPen(toQColor(hatching.stroke), 1.0, Qt::SolidLine, Qt::FlatCap));
  painter_.drawLines(lines);
  painter_.restore();
}

void PdfCanvas::columns(int top, int height, ColumnEdge edge, std::span<const Column> columns) {
  for (std::size_t i = 0; i < columns.size();) {
    std::size_t next = i + 1;  // equal neighbours become one area
    while (next < columns.size() && columns[next].x == columns[next - 1].x + 1 &&
           columns[next].height == columns[i].height && columns[next].color == columns[i].color) {
      ++next;
    }
    const int y = edge == ColumnEdge::kTop ? top : top + height - columns[i].height;
    areas_.fill({columns[i].x, y, static_cast<int>(next - i), columns[i].height}, columns[i].color);
    i = next;
  }
}

}  // namespace pipetrace
