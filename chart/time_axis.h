#pragma once

#include "trace/nanoseconds.h"

namespace pipetrace {

/// Maps a stretch of time, the view, to pixels. Nanoseconds and pixels are whole: pixel x covers
/// the instants [timeAt(x), timeAt(x + 1)). The view reaches at most 1 % of the content beyond each
/// of its ends, and is never shorter than kMinSpan.
class TimeAxis {
 public:
  static constexpr Nanoseconds kMinSpan = 10;
  /// xOf() gives this (or its negative) for times that are further away.
  static constexpr int kFar = 1 << 28;

  /// Shows all of [contentBegin, contentEnd]. `width` in pixels; at least 1 is assumed.
  TimeAxis(Nanoseconds contentBegin, Nanoseconds contentEnd, int width);

  Nanoseconds begin() const { return begin_; }
  Nanoseconds end() const { return begin_ + span_; }
  Nanoseconds span() const { return span_; }
  int width() const { return width_; }

  /// Changes the width. The times at both ends stay.
  void setWidth(int width);
  void fit();
  void show(Nanoseconds begin, Nanoseconds end);
  /// Multiplies the span by numerator / denominator; the time at pixel `x` stays where it is.
  void zoom(int x, int numerator, int denominator);
  /// Moves the chart by `pixels` to the right, so the view goes back in time.
  void pan(int pixels);

  /// Makes each pixel cover a whole number of nanoseconds, where that changes the span by less than
  /// a pixel. From then on pan() moves what is drawn by whole pixels. Not for a view of all.
  void alignToPixels();

  /// The pixel that holds `time`; outside the view it is negative or >= width().
  int xOf(Nanoseconds time) const;
  /// The first instant of pixel `x`.
  Nanoseconds timeAt(int x) const;
  /// The shortest time that is `pixels` wide.
  Nanoseconds durationOf(int pixels) const;

 private:
  Nanoseconds limitBegin_ = 0;  // limits of the view
  Nanoseconds limitSpan_ = 0;
  Nanoseconds begin_ = 0;
  Nanoseconds span_ = 0;
  int width_;
};

}  // namespace pipetrace
