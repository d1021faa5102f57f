#include "chart/draw/clip_shapes.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace pipetrace {
namespace {

/// One side of a rectangle: what is inside has a positive distance.
struct Side {
  double x = 0;
  double y = 0;
  double offset = 0;
  double distance(const PixelPoint& p) const { return p.x * x + p.y * y + offset; }
};

std::array<Side, 4> sidesOf(const PixelRect& rect) {
  return {Side{1, 0, -static_cast<double>(rect.x)}, Side{-1, 0, static_cast<double>(rect.right())},
          Side{0, 1, -static_cast<double>(rect.y)},
          Side{0, -1, static_cast<double>(rect.bottom())}};
}

PixelPoint between(const PixelPoint& a, const PixelPoint& b, double share) {
  return {a.x + (b.x - a.x) * share, a.y + (b.y - a.y) * share};
}

bool isSame(const PixelPoint& a, const PixelPoint& b) { return a.x == b.x && a.y == b.y; }

/// The part of a line from a to b that is inside, after Liang and Barsky.
std::optional<std::pair<PixelPoint, PixelPoint>> partInside(const PixelPoint& a,
                                                            const PixelPoint& b,
                                                            const PixelRect& rect) {
  double from = 0;
  double to = 1;
  for (const Side& side : sidesOf(rect)) {
    const double atA = side.distance(a);
    const double atB = side.distance(b);
    if (atA < 0 && atB < 0) return std::nullopt;
    if (atA < 0) from = std::max(from, atA / (atA - atB));
    if (atB < 0) to = std::min(to, atA / (atA - atB));
  }
  if (from > to) return std::nullopt;
  return std::pair(from == 0 ? a : between(a, b, from), to == 1 ? b : between(a, b, to));
}

}  // namespace

std::vector<PixelPoints> lineInside(std::span<const PixelPoint> points, const PixelRect& rect) {
  std::vector<PixelPoints> lines;
  for (std::size_t i = 1; i < points.size(); ++i) {
    const auto part = partInside(points[i - 1], points[i], rect);
    if (!part) continue;
    const bool goesOn = !lines.empty() && isSame(lines.back().back(), part->first);
    if (!goesOn) lines.push_back({part->first});
    lines.back().push_back(part->second);
  }
  return lines;
}

PixelPoints polygonInside(std::span<const PixelPoint> corners, const PixelRect& rect) {
  // After Sutherland and Hodgman: side by side.
  PixelPoints area(corners.begin(), corners.end());
  for (const Side& side : sidesOf(rect)) {
    PixelPoints left;
    for (std::size_t i = 0; i < area.size(); ++i) {
      const PixelPoint& at = area[i];
      const PixelPoint& next = area[(i + 1) % area.size()];
      const double here = side.distance(at);
      const double there = side.distance(next);
      if (here >= 0) left.push_back(at);
      if ((here < 0) != (there < 0)) left.push_back(between(at, next, here / (here - there)));
    }
    area = std::move(left);
  }
  return area.size() < 3 ? PixelPoints() : area;
}

PixelPoints pointsAlong(const std::array<PixelPoint, 4>& curve) {
  constexpr double kStep = 4;  // pixels
  double length = 0;
  for (std::size_t i = 1; i < curve.size(); ++i) {
    length += std::hypot(curve[i].x - curve[i - 1].x, curve[i].y - curve[i - 1].y);
  }
  const int count = std::clamp(static_cast<int>(length / kStep), 8, 400);
  PixelPoints points = {curve[0]};
  for (int i = 1; i < count; ++i) {
    const double t = static_cast<double>(i) / count;
    const PixelPoint a = between(curve[0], curve[1], t);
    const PixelPoint b = between(curve[1], curve[2], t);
    const PixelPoint c = between(curve[2], curve[3], t);
    points.push_back(between(between(a, b, t), between(b, c, t), t));
  }
  points.push_back(curve[3]);
  return points;
}

}  // namespace pipetrace
