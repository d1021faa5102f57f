#include "viewer/chart/area_drag.h"

#include <QRegion>
#include <algorithm>
#include <cstdlib>
#include <limits>
#include <vector>

#include "trace/text/decimal_time.h"
#include "viewer/chart/chart_widget.h"

namespace pipetrace {
namespace {

constexpr int kAreaTint = 52;  // of 255
constexpr int kEdgeWidth = 2;
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

constexpr int kEdgeReach = 4;  // pixels at which an edge is held
constexpr int kSnap = 5;       // pixels from the edge of a job
constexpr int kScrollMs = 20;  // between two steps of scrolling
constexpr int kFastest = 40;   // pixels a step

/// How far `value` is outside of [from, to).
int beyond(int value, int from, int to) {
  if (value < from) return value - from;
  return value >= to ? value - to + 1 : 0;
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
  // Rows that stand side by side are one block; between others the area is only outlined. Jobs and
  // bubbles keep their colours, which say what they are: the tint is between the rows.
  constexpr int kLargestGap = 16;
  const std::vector<RowPlace> places = placesOf(view, *area);
  QRegion between;
  int to = places.front().top;
  for (const RowPlace& place : places) {
    if (place.top > to && place.top - to <= kLargestGap) {
      between += QRect(rect.x, to, rect.width, place.top - to);
    }
    to = std::max(to, place.bottom());
  }
  for (const RowInView& row : view.rowsInView()) {
    between -= QRect(rect.x, row.place.top, rect.width, row.place.height);
  }
  for (const QRect& each : between) painter.fillRect(each, tint);
  painter.setBrush(Qt::NoBrush);
  painter.setPen(QPen(edge, kEdgeWidth));
  painter.drawRect(rect.x, rect.y, rect.width, rect.height - 1);
}

void AreaLengthOverlay::paint(QPainter& painter, const ChartView& view) {
  if (!chart_.area()) return;
  const PixelRect rect = rectOf(view, *chart_.area());
  if (rect.height == 0) return;
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

AreaDrag::AreaDrag(ChartWidget& chart) : chart_(chart) {
  scrolling_.setInterval(kScrollMs);
  connect(&scrolling_, &QTimer::timeout, this, &AreaDrag::scroll);
}

AreaEdge AreaDrag::edgeAt(QPoint position) const {
  if (chart_.model() == nullptr || !chart_.area()) return AreaEdge::kNone;
  const ChartView view = chart_.view();
  if (!view.area.contains(position.x(), position.y())) return AreaEdge::kNone;
  const PixelRect rect = rectOf(view, *chart_.area());
  if (rect.height == 0) return AreaEdge::kNone;
  const auto isNear = [](int a, int b) { return std::abs(a - b) <= kEdgeReach; };
  const bool isBeside =
      position.y() >= rect.y - kEdgeReach && position.y() < rect.bottom() + kEdgeReach;
  if (isBeside && isNear(position.x(), rect.right())) return AreaEdge::kEnd;
  if (isBeside && isNear(position.x(), rect.x)) return AreaEdge::kBegin;
  if (position.x() < rect.x || position.x() >= rect.right()) return AreaEdge::kNone;
  if (isNear(position.y(), rect.bottom())) return AreaEdge::kBottom;
  if (isNear(position.y(), rect.y)) return AreaEdge::kTop;
  return AreaEdge::kNone;
}

Qt::CursorShape AreaDrag::cursorOf(AreaEdge edge) {
  switch (edge) {
    case AreaEdge::kBegin:
    case AreaEdge::kEnd: return Qt::SizeHorCursor;
    case AreaEdge::kTop:
    case AreaEdge::kBottom: return Qt::SizeVerCursor;
    case AreaEdge::kNone: break;
  }
  return Qt::ArrowCursor;
}

void AreaDrag::start(QPoint pressedAt) {
  const AreaEdge edge = edgeAt(pressedAt);
  const ChartView view = chart_.view();
  isActive_ = true;
  isEdge_ = edge != AreaEdge::kNone;
  position_ = pressedAt;
  movesTime_ = edge != AreaEdge::kTop && edge != AreaEdge::kBottom;
  movesRows_ = edge != AreaEdge::kBegin && edge != AreaEdge::kEnd;
  if (isEdge_) {
    area_ = *chart_.area();
    const Nanoseconds time = edge == AreaEdge::kBegin ? area_.time.end : area_.time.begin;
    anchorTime_ = {time, time};
    const PixelRect rect = rectOf(view, area_);
    anchorY_ = view.layoutYAt(edge == AreaEdge::kTop ? rect.bottom() - 1 : rect.y);
    return;
  }
  anchorTime_ = timeAt(pressedAt);
  anchorY_ = view.layoutYAt(pressedAt.y());
  if (pressedAt.y() >= view.area.y) return;
  movesRows_ = false;
  area_.rows = rowsBetween(0, view.layout.height());
}

void AreaDrag::moveTo(QPoint position) {
  if (!isActive_) return;
  position_ = position;
  const PixelRect rows = chart_.view().area;
  const bool isOutside = (movesTime_ && beyond(position.x(), rows.x, rows.right()) != 0) ||
                         (movesRows_ && beyond(position.y(), rows.y, rows.bottom()) != 0);
  if (!isOutside) {
    scrolling_.stop();
  } else if (!scrolling_.isActive()) {
    scrolling_.start();
  }
  update();
}

void AreaDrag::stop() {
  scrolling_.stop();
  isActive_ = false;
}

void AreaDrag::scroll() {
  const PixelRect rows = chart_.view().area;
  const auto speed = [](int pixels) { return std::clamp(pixels / 2, -kFastest, kFastest); };
  const int x = movesTime_ ? speed(beyond(position_.x(), rows.x, rows.right())) : 0;
  const int y = movesRows_ ? speed(beyond(position_.y(), rows.y, rows.bottom())) : 0;
  chart_.scrollBy({-x, -y});
  update();
}

/// The time of the pixel; of an edge the instant at which it is drawn.
AreaDrag::Reach AreaDrag::timeAt(QPoint position) const {
  const ChartView view = chart_.view();
  const Timeline::Span run = view.model.span();
  const int x = std::clamp(position.x() - view.area.x, 0, view.area.width - 1);
  const Nanoseconds time = view.axis.timeAt(x);
  const Nanoseconds near = snapped(time, position.y());
  if (isEdge_ || near != time) {
    const Nanoseconds at = std::clamp(near, run.begin, run.end);
    return {at, at};
  }
  return {std::clamp(time, run.begin, run.end),
          std::clamp(view.axis.timeAt(x + 1), run.begin, run.end)};
}

/// The begin or end of a job in the row at height `y` that is next to `time`; else `time`.
Nanoseconds AreaDrag::snapped(Nanoseconds time, int y) const {
  const ChartView view = chart_.view();
  const auto row = view.layout.rowAt(view.layoutYAt(y));
  if (!row || !view.area.contains(view.area.x, y)) return time;
  Nanoseconds nearest = time;
  Nanoseconds distance = view.axis.durationOf(kSnap);
  const auto tryTime = [&](Nanoseconds edge) {
    const Nanoseconds away = edge < time ? time - edge : edge - time;
    if (away >= distance) return;
    distance = away;
    nearest = edge;
  };
  for (const LaneIndex& lane : view.model.rows()[*row].lanes) {
    const std::size_t i = lane.firstEndingAfter(time);
    if (i > 0) tryTime(lane[i - 1].end);
    if (i >= lane.size()) continue;
    tryTime(lane[i].begin);
    tryTime(lane[i].end);
  }
  return nearest;
}

/// The rows between two heights of the layout; the nearest if there is none. Rows without a height
/// stand for nothing at the top, and elsewhere are inside of another row.
std::vector<std::size_t> AreaDrag::rowsBetween(int y, int otherY) const {
  const RowLayout& layout = chart_.view().layout;
  const int top = std::min(y, otherY);
  const int bottom = std::max(y, otherY) + 1;
  std::vector<std::size_t> rows;
  int nearest = std::numeric_limits<int>::max();
  for (std::size_t row = 0; row < layout.size(); ++row) {
    const RowPlace& place = layout[row];
    if (place.bottom() == 0) continue;
    const int away = std::max({place.top - bottom + 1, top - place.bottom() + 1, 0});
    if (away > nearest) continue;
    if (away < nearest) rows.clear();
    nearest = away;
    rows.push_back(row);
  }
  return rows;
}

void AreaDrag::update() {
  const ChartView view = chart_.view();
  if (movesTime_) {
    const Reach reach = timeAt(position_);
    area_.time.begin = std::min(anchorTime_.begin, reach.begin);
    area_.time.end = std::max({anchorTime_.end, reach.end, area_.time.begin + 1});
  }
  if (movesRows_) {
    const int y = std::clamp(position_.y(), view.area.y, view.area.bottom() - 1);
    area_.rows = rowsBetween(anchorY_, view.layoutYAt(y));
  }
  chart_.setArea(area_);
}

}  // namespace pipetrace
