#include "analysis/run/clocks/offset_strip.h"

#include <algorithm>
#include <cmath>

namespace pipetrace {
namespace {

__extension__ using Wide = __int128;

/// The upper hull of lower bounds, or the lower hull of upper bounds: the others follow from these.
std::vector<OffsetBound> hullOf(std::vector<OffsetBound> bounds, bool areLower) {
  const Wide sign = areLower ? 1 : -1;
  std::sort(bounds.begin(), bounds.end(), [&](const OffsetBound& a, const OffsetBound& b) {
    return a.when != b.when ? a.when < b.when : sign * a.offset > sign * b.offset;
  });
  std::vector<OffsetBound> hull;
  for (const OffsetBound& next : bounds) {
    if (!hull.empty() && hull.back().when == next.when) continue;
    while (hull.size() >= 2) {
      const OffsetBound& a = hull[hull.size() - 2];
      const OffsetBound& b = hull.back();
      const Wide turn = (Wide{b.when} - a.when) * (Wide{next.offset} - a.offset) -
                        (Wide{b.offset} - a.offset) * (Wide{next.when} - a.when);
      if (sign * turn < 0) break;
      hull.pop_back();
    }
    hull.push_back(next);
  }
  return hull;
}

}  // namespace

OffsetStrip::OffsetStrip(Timeline::Span span, std::vector<OffsetBound> lower,
                         std::vector<OffsetBound> upper)
    : length_(std::max(1.0, static_cast<double>(span.end - span.begin))) {
  base_ = lower.front().offset;
  for (const bool isLower : {true, false}) {
    for (const OffsetBound& bound : hullOf(std::move(isLower ? lower : upper), isLower)) {
      cuts_.push_back({.share = static_cast<double>(bound.when - span.begin) / length_,
                       .offset = static_cast<double>(bound.offset - base_),
                       .cause = bound.cause,
                       .isLower = isLower});
    }
  }
}

double OffsetStrip::room(const Line& line, const Cut& cut) {
  const double at = line.begin + (line.end - line.begin) * cut.share;
  return cut.isLower ? at - cut.offset : cut.offset - at;
}

std::vector<OffsetStrip::Line> OffsetStrip::polygon(double slack) const {
  // No offset is farther from a bound than the drift takes it. The first is a lower bound.
  double low = cuts_.front().offset;
  double high = low;
  double reach = 1;
  for (const Cut& cut : cuts_) {
    high = std::max(high, cut.offset);
    reach = std::max({reach, std::abs(cut.share), std::abs(cut.share - 1)});
  }
  const double margin = kMostDrift * length_ * reach + std::abs(slack) + 1;
  low -= margin;
  high += margin;
  std::vector<Line> corners = {{low, low}, {high, low}, {high, high}, {low, high}};
  const auto cutBy = [&](const auto& roomOf) {
    std::vector<Line> kept;
    for (std::size_t i = 0; i < corners.size(); ++i) {
      const Line& from = corners[i];
      const Line& to = corners[(i + 1) % corners.size()];
      const double here = roomOf(from);
      const double there = roomOf(to);
      if (here >= 0) kept.push_back(from);
      if ((here < 0) == (there < 0)) continue;
      const double share = here / (here - there);
      kept.push_back(
          {from.begin + (to.begin - from.begin) * share, from.end + (to.end - from.end) * share});
    }
    corners = std::move(kept);
  };
  for (const double sign : {1.0, -1.0}) {
    cutBy([&](const Line& line) { return kMostDrift * length_ - sign * (line.end - line.begin); });
  }
  for (const Cut& cut : cuts_) {
    cutBy([&](const Line& line) { return room(line, cut) + slack; });
  }
  return corners;
}

std::optional<OffsetRange> OffsetStrip::range(double slack) const {
  const std::vector<Line> corners = polygon(slack);
  if (corners.empty()) return std::nullopt;
  OffsetRange range{{corners[0].begin, corners[0].begin}, {corners[0].end, corners[0].end}};
  for (const Line& corner : corners) {
    range.begin.low = std::min(range.begin.low, corner.begin);
    range.begin.high = std::max(range.begin.high, corner.begin);
    range.end.low = std::min(range.end.low, corner.end);
    range.end.high = std::max(range.end.high, corner.end);
  }
  for (double* const each :
       {&range.begin.low, &range.begin.high, &range.end.low, &range.end.high}) {
    *each += static_cast<double>(base_);
  }
  return range;
}

double OffsetStrip::leastSlack() const {
  if (!polygon(0).empty()) return 0;
  double none = 0;
  double enough = 1;
  while (polygon(enough).empty()) {
    none = enough;
    enough *= 2;
  }
  while (enough - none > 0.5) {
    const double middle = none + (enough - none) / 2;
    (polygon(middle).empty() ? none : enough) = middle;
  }
  return enough;
}

std::vector<std::size_t> OffsetStrip::contradictions() const {
  const double slack = leastSlack();
  const std::vector<Line> corners = polygon(slack);
  std::vector<std::size_t> causes;
  // The polygon is hardly more than a point.
  for (const Cut& cut : cuts_) {
    const bool binds = std::all_of(corners.begin(), corners.end(), [&](const Line& corner) {
      return room(corner, cut) + slack < 4;
    });
    if (binds) causes.push_back(cut.cause);
  }
  return causes;
}

}  // namespace pipetrace
