#include "viewer/chart/area_overlay.h"

#include <algorithm>
#include <vector>

#include "trace/text/decimal_time.h"
#include "viewer/chart/chart_widget.h"

namespace pipetrace {
namespace {

constexpr int kAreaTint = 52;  // of 255
constexpr int kAroundText = 6;
constexpr int kLengthSize = 12;

/// The places of the area's rows on the canvas, from the top. A row inside of a folded one has no
/// height of its own; it is shown as a narrow band there.
std::vector<RowPlace> placesOf(const ChartView& view, const ChartArea& area) {
  constexpr int kBand = 12;
  std::vector<RowPlace> places;
  for (const std::size_t row : area.rows) {
    if (row >= view.layout.size() || view.layout[row].bottom() == 0) continue;
    const RowPlace& place = view.layout[row];
    if (place.height > 0) {
      places.push_back({view.yOf(place.top), place.height});
    } else {
      places.push_back({view.yOf(place.top) - kBand / 2, kBand});
    }
  }
  std::sort(places.begin(), places.end(),
            [](const RowPlace& a, const RowPlace& b) { return a.top < b.top; });
  return places;
}

}  // namespace

PixelRect rectOf(const ChartView& view, const ChartArea& area) {
  const std::vector<RowPlace> places = placesOf(view, area);
  int bottom = 0;
  for (const RowPlace& place : places) bottom = std::max(bottom, place.bottom());
  const auto x = [&](Nanoseconds time) {
    return std::clamp(view.xOf(time), view.area.x - 20, view.area.right() + 20);
  };
  const int left = x(area.time.begin);
  const int width = std::max(x(area.time.end) - left, 1);
  if (places.empty()) return {left, view.area.y, width, 0};
  return {left, places.front().top, width, bottom - places.front().top};
}

void AreaOverlay::paint(QPainter& painter, const ChartView& view) {
  const auto& area = chart_.area();
  if (!area) return;
  const PixelRect rect = rectOf(view, *area);
  if (rect.height == 0) return;
  QColor tint = chart_.palette().color(QPalette::Active, QPalette::Highlight);
  const QColor edge = tint;
  tint.setAlpha(kAreaTint);
  // Rows that stand side by side are one block; between others the area is only outlined.
  constexpr int kLargestGap = 16;
  const std::vector<RowPlace> places = placesOf(view, *area);
  int from = places.front().top;
  int to = from;
  const auto fill = [&] { painter.fillRect(rect.x, from, rect.width, to - from, tint); };
  for (const RowPlace& place : places) {
    if (place.top - to > kLargestGap) {
      fill();
      from = to = place.top;
    }
    to = std::max(to, place.bottom());
  }
  fill();
  painter.setBrush(Qt::NoBrush);
  painter.setPen(QPen(edge, 1));
  painter.drawRect(rect.x, rect.y, rect.width, rect.height - 1);
  paintLength(painter, view, rect);
}

void AreaOverlay::paintLength(QPainter& painter, const ChartView& view,
                              const PixelRect& rect) const {
  const Timeline::Span& time = chart_.area()->time;
  const QString text = QString::fromStdString(formatDuration(time.end - time.begin));
  QFont font = chart_.font();
  font.setPixelSize(kLengthSize);
  font.setBold(true);
  const QFontMetrics metrics(font);
  const int width = metrics.horizontalAdvance(text) + 2 * kAroundText;
  const int height = metrics.height() + 4;
  const int left = std::max(rect.x, view.area.x);
  const int right = std::min(rect.right(), view.area.right());
  const int x = std::clamp((left + right - width) / 2, view.area.x,
                           std::max(view.area.right() - width, view.area.x));
  const int y = std::max(rect.y - height / 2, view.area.y + 1);
  if (left >= right || y >= rect.bottom()) return;
  const QPalette& colors = chart_.palette();
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(Qt::NoPen);
  painter.setBrush(colors.color(QPalette::Active, QPalette::Highlight));
  painter.drawRoundedRect(x, y, width, height, 4, 4);
  painter.setPen(colors.color(QPalette::Active, QPalette::HighlightedText));
  painter.setFont(font);
  painter.drawText(QRect(x, y, width, height), Qt::AlignCenter, text);
  painter.restore();
}

}  // namespace pipetrace
