#pragma once

#include "trace/nanoseconds.h"

namespace pipetrace {

/// Which stretch of time is shown on how many pixels. Whole nanoseconds and whole pixels: pixel x
/// covers the instants [timeAt(x), timeAt(x + 1)). The view never leaves the content by more than a
/// margin of 1 % on each side, and is never shorter than kMinSpan.
class TimeAxis {
 public:
  static constexpr Nanoseconds kMinSpan = 10;
  /// What xOf() gives for everything further away than this.
  static constexpr int kFar = 1 << 28;

  /// Shows all of [contentBegin, contentEnd]. `width` in pixels; at least 1 is assumed.
  TimeAxis(Nanoseconds contentBegin, Nanoseconds contentEnd, int width);

  Nanoseconds begin() const { return begin_; }
  Nanoseconds end() const { return begin_ + span_; }
  Nanoseconds span() const { return span_; }
  int width() const { return width_; }

  /// Keeps the times at both ends.
  void setWidth(int width);
  void fit();
  void show(Nanoseconds begin, Nanoseconds end);
  /// Multiplies the span by numerator / denominator; the time at pixel `x` stays where it is.
  void zoom(int x, int numerator, int denominator);
  /// Moves what is drawn by `pixels` to the right, so the view goes back in time.
  void pan(int pixels);

  /// The pixel that holds `time`; outside the view it is negative or >= width().
  int xOf(Nanoseconds time) const;
  /// The first instant of pixel `x`.
  Nanoseconds timeAt(int x) const;
  /// The shortest time that is `pixels` wide.
  Nanoseconds durationOf(int pixels) const;

 private:
  Nanoseconds limitBegin_ = 0;  // what the view may not leave
  Nanoseconds limitSpan_ = 0;
  Nanoseconds begin_ = 0;
  Nanoseconds span_ = 0;
  int width_;
};

}  // namespace pipetrace
