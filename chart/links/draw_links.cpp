#include "chart/links/draw_links.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "chart/links/link_colors.h"
#include "trace/text/display_name.h"

namespace pipetrace {
namespace {

constexpr double kInset = 4;      // of an arrow's ends from the corners of jobs
constexpr double kSideways = 36;  // from that distance on an arrow leaves a job at its side
constexpr double kArrowHalo = 3;  // wider than the line
constexpr int kNoteHeight = 16;
constexpr int kNotePadding = 5;
constexpr double kArc = 16;  // height of an arrow inside a row

struct Looks {
  Stroke stroke;
  double head = 0;  // its length
  bool hasHalo = true;
};

Looks looksOf(LinkKind kind, const LinkColors& colors) {
  switch (kind) {
    case LinkKind::kChain: return {{colors.ink, 1.2, 0.55}, 6, false};
    case LinkKind::kDirect: return {{colors.ink, 2}, 9, true};
    case LinkKind::kCulprit: return {{colors.culprit, 2}, 9, true};
  }
  return {};
}

/// One arrow, from its first point to its last.
using Curve = std::array<PixelPoint, 4>;

/// The direction in which the curve ends, of length 1.
PixelPoint directionAt(const Curve& curve) {
  PixelPoint along{curve[3].x - curve[2].x, curve[3].y - curve[2].y};
  if (along.x == 0 && along.y == 0) along = {curve[3].x - curve[0].x, curve[3].y - curve[0].y};
  const double length = std::hypot(along.x, along.y);
  return length > 0 ? PixelPoint{along.x / length, along.y / length} : PixelPoint{1, 0};
}

std::array<PixelPoint, 3> headOf(const PixelPoint& tip, const PixelPoint& along, double length) {
  const double half = length * 0.45;
  const PixelPoint base{tip.x - along.x * length, tip.y - along.y * length};
  return {tip, PixelPoint{base.x - along.y * half, base.y + along.x * half},
          PixelPoint{base.x + along.y * half, base.y - along.x * half}};
}

class LinkPainter {
 public:
  LinkPainter(Canvas& canvas, const ChartView& view)
      : canvas_(canvas), view_(view), colors_(linkColorsOf(view.model)) {}

  void paint(const JobLink& link) {
    const EventBox from = boxOf(view_, link.from);
    const EventBox to = boxOf(view_, link.to);
    if (isOutside(from, to)) return;
    const Curve curve = link.kind == LinkKind::kCulprit ? blame(from, to) : flow(from, to);
    const Looks looks = looksOf(link.kind, colors_);
    draw(curve, looks);
    if (link.kind == LinkKind::kChain) return;
    note(link.from, from, curve[0], looks);
    note(link.to, to, curve[3], looks);
  }

 private:
  bool isOutside(const EventBox& a, const EventBox& b) const {
    const PixelRect& area = view_.area;
    const bool isLeft = std::max(a.rect.right(), b.rect.right()) < area.x;
    const bool isRight = std::min(a.rect.x, b.rect.x) > area.right();
    const bool isAbove = a.side == RowSide::kAbove && b.side == RowSide::kAbove;
    const bool isBelow = a.side == RowSide::kBelow && b.side == RowSide::kBelow;
    return isLeft || isRight || isAbove || isBelow;
  }

  /// The height at which an arrow leaves or enters a row; `isDown`: at its lower edge. The edge of
  /// the chart for rows out of view.
  double edgeOf(const EventBox& box, bool isDown) const {
    const PixelRect& area = view_.area;
    const double y = isDown ? box.rect.bottom() : box.rect.y;
    return std::clamp<double>(y, area.y + 1, area.bottom() - 1);
  }

  /// The part of an event that is in view.
  double visibleMiddle(const EventBox& box) const {
    const int left = std::max(box.rect.x, view_.area.x);
    const int right = std::min(box.rect.right(), view_.area.right());
    if (right > left) return (left + right) / 2.0;
    return std::clamp<double>(box.middleX(), view_.area.x + 1, view_.area.right() - 1);
  }

  static Curve upright(const PixelPoint& from, const PixelPoint& to) {
    const double half = (to.y - from.y) / 2;
    return {from, PixelPoint{from.x, from.y + half}, PixelPoint{to.x, to.y - half}, to};
  }

  /// From a bubble to a job, from the edge of one row to that of the other.
  Curve blame(const EventBox& from, const EventBox& to) const {
    const bool isDown = to.middleY() > from.middleY();
    const double x = visibleMiddle(from);
    const double end = visibleMiddle(to);
    if (from.rect.y == to.rect.y) return arc({x, edgeOf(from, false)}, {end, edgeOf(to, false)});
    return upright({x, edgeOf(from, isDown)}, {end, edgeOf(to, !isDown)});
  }

  /// From where a job ends to where a later one begins.
  Curve flow(const EventBox& from, const EventBox& to) const {
    const double inset = std::min(kInset, from.rect.width / 2.0);
    const double x = from.rect.right() - inset;
    const double end = to.rect.x + std::min(kInset, to.rect.width / 2.0);
    if (from.rect.y == to.rect.y) return arc({x, edgeOf(from, false)}, {end, edgeOf(to, false)});
    const bool isDown = to.middleY() > from.middleY();
    const double distance = to.rect.x - from.rect.right();
    const bool areInView = from.side == RowSide::kInView && to.side == RowSide::kInView;
    if (distance < kSideways || !areInView) {
      return upright({x, edgeOf(from, isDown)}, {end, edgeOf(to, !isDown)});
    }
    // Beside the texts in the middle of rows.
    const double side = isDown ? 0.25 : -0.25;
    const PixelPoint begin{static_cast<double>(from.rect.right()),
                           from.middleY() + side * from.rect.height};
    const PixelPoint tip{static_cast<double>(to.rect.x), to.middleY() - side * to.rect.height};
    const double pull = std::min(distance / 2, 60.0);
    return {begin, PixelPoint{begin.x + pull, begin.y}, PixelPoint{tip.x - pull, tip.y}, tip};
  }

  /// Above a row, down to the second point.
  static Curve arc(const PixelPoint& from, const PixelPoint& to) {
    const double height = std::min(kArc, 6 + std::abs(to.x - from.x) / 4);
    return {from, PixelPoint{from.x, from.y - height}, PixelPoint{to.x, to.y - height}, to};
  }

  void draw(const Curve& curve, const Looks& looks) {
    const PixelPoint along = directionAt(curve);
    Curve line = curve;
    line[3].x -= along.x * looks.head * 0.8;
    line[3].y -= along.y * looks.head * 0.8;
    if (looks.hasHalo) {
      canvas_.curve(line, {colors_.paper, looks.stroke.width + kArrowHalo, 0.85});
      const PixelPoint tip{curve[3].x + along.x * 2, curve[3].y + along.y * 2};
      canvas_.polygon(headOf(tip, along, looks.head + 4), colors_.paper);
    }
    canvas_.curve(line, looks.stroke);
    const Color color =
        looks.stroke.opacity < 1 ? mix(colors_.paper, looks.stroke.color, 200) : looks.stroke.color;
    canvas_.polygon(headOf(curve[3], along, looks.head), color);
  }

  /// Names an end that is out of view, at the edge where its arrow ends.
  void note(const EventSpot& spot, const EventBox& box, const PixelPoint& at, const Looks& looks) {
    const PixelRect& area = view_.area;
    const bool isBeside = box.rect.right() <= area.x || box.rect.x >= area.right();
    if (box.side == RowSide::kInView && !isBeside) return;
    const ChartRow& row = view_.model.rows()[spot.row];
    std::string text = actionName(*spot.event);
    if (text.empty()) text = displayName(view_.model.timeline(), *spot.event);
    text += " on rank " + std::to_string(row.rank);
    const TextStyle style{11, false, looks.stroke.color, TextAlign::kCenter};
    const int width = canvas_.textWidth(text, style) + 2 * kNotePadding;
    if (width > area.width || area.height < kNoteHeight) return;
    const int x = std::clamp(static_cast<int>(at.x) + 8, area.x, area.right() - width);
    const int y = std::clamp(static_cast<int>(at.y) - kNoteHeight / 2, area.y + 2,
                             area.bottom() - kNoteHeight - 2);
    const PixelRect rect{x, y, width, kNoteHeight};
    canvas_.fill({rect.x - 1, rect.y - 1, rect.width + 2, rect.height + 2}, looks.stroke.color);
    canvas_.fill(rect, colors_.paper);
    canvas_.text(rect, text, style);
  }

  Canvas& canvas_;
  const ChartView& view_;
  LinkColors colors_;
};

}  // namespace

void drawLinks(Canvas& canvas, const ChartView& view, std::span<const JobLink> links) {
  if (links.empty()) return;
  canvas.pushClip(view.area);
  LinkPainter painter(canvas, view);
  for (const bool areChains : {true, false}) {
    for (const JobLink& link : links) {
      if ((link.kind == LinkKind::kChain) == areChains) painter.paint(link);
    }
  }
  canvas.popClip();
}

}  // namespace pipetrace
