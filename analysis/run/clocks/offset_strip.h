#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "trace/timeline.h"

namespace pipetrace {

/// A bound of the offset between two clocks, as one message gives it.
struct OffsetBound {
  Nanoseconds when = 0;    ///< by the own clock
  Nanoseconds offset = 0;  ///< other clock - own clock then is at least that, or at most
  std::size_t cause = 0;   ///< the caller's number of the message
};

/// The range of an offset at the begin and at the end of a span, in ns. In between it is on a
/// straight line.
struct OffsetRange {
  struct End {
    double low = 0;
    double high = 0;
    double middle() const { return low + (high - low) / 2; }
  };
  End begin;
  End end;
};

/// The straight lines of an offset over time that lie above all lower bounds and below all upper
/// ones, and that rise or fall by at most kMostDrift. The bounds are reduced to their convex hulls.
/// A line is a point (offset at the begin, offset at the end), and each bound cuts a convex polygon
/// of such points.
class OffsetStrip {
 public:
  /// In ns per ns. NTP corrects no clock that is off by over 500 ppm.
  static constexpr double kMostDrift = 1e-3;

  /// `span`: the times of the own clock, not empty, at which the offset is wanted. Needs bounds of
  /// both kinds.
  OffsetStrip(Timeline::Span span, std::vector<OffsetBound> lower, std::vector<OffsetBound> upper);

  /// The smallest and largest offsets of all lines that miss no bound by more than `slack`; a
  /// negative slack keeps that distance from each. The line through both middles is one of them,
  /// and the one whose largest distance from the others is smallest. Nothing: there is no line.
  std::optional<OffsetRange> range(double slack = 0) const;

  /// The smallest slack with which there is a line, if it is above 0; else 0.
  double leastSlack() const;
  /// The causes of the bounds that allow no smaller slack.
  std::vector<std::size_t> contradictions() const;

 private:
  struct Cut {  ///< (1 - share) * begin + share * end >= offset, or <=
    double share = 0;
    double offset = 0;
    std::size_t cause = 0;
    bool isLower = false;
  };
  struct Line {
    double begin = 0;
    double end = 0;
  };
  /// How far the line is inside the cut.
  static double room(const Line& line, const Cut& cut);
  std::vector<Line> polygon(double slack) const;

  std::vector<Cut> cuts_;
  Nanoseconds base_ = 0;  // offsets of cuts and lines count from it
  double length_ = 1;     // of the span, ns
};

}  // namespace pipetrace
