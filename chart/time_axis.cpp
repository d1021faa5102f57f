#include "chart/time_axis.h"

#include <algorithm>

namespace pipetrace {
namespace {

__extension__ using Wide = __int128;  // a product of a time and a number of pixels

constexpr Wide kLargestTime = kNsMax / 4;  // so that sums and differences of views fit

/// Divides values that mostly fit into 64 bits, where dividing is several times faster.
template <typename Integer>
Integer floorQuotient(Integer a, Integer b) {
  return a / b - (a % b < 0 ? 1 : 0);
}

bool isNarrow(Wide value) { return value >= kNsMin && value <= kNsMax; }

/// Divides and rounds down. `b` is positive.
Wide floorDiv(Wide a, Wide b) {
  if (isNarrow(a) && isNarrow(b)) {
    return floorQuotient(static_cast<std::int64_t>(a), static_cast<std::int64_t>(b));
  }
  return floorQuotient(a, b);
}

Wide ceilDiv(Wide a, Wide b) { return -floorDiv(-a, b); }

Nanoseconds saturated(Wide t) {
  return static_cast<Nanoseconds>(std::clamp<Wide>(t, -kLargestTime, kLargestTime));
}

}  // namespace

TimeAxis::TimeAxis(Nanoseconds contentBegin, Nanoseconds contentEnd, int width)
    : width_(std::max(width, 1)) {
  const Wide begin = saturated(contentBegin);
  const Wide span = std::max<Wide>(saturated(contentEnd) - begin, 0);
  const Wide margin = std::max<Wide>({span / 100, (kMinSpan - span + 1) / 2, 1});
  limitBegin_ = static_cast<Nanoseconds>(begin - margin);
  limitSpan_ = static_cast<Nanoseconds>(span + 2 * margin);
  fit();
}

void TimeAxis::setWidth(int width) { width_ = std::max(width, 1); }

void TimeAxis::fit() {
  begin_ = limitBegin_;
  span_ = limitSpan_;
}

void TimeAxis::show(Nanoseconds begin, Nanoseconds end) {
  const Wide from = saturated(begin);
  span_ = static_cast<Nanoseconds>(
      std::clamp<Wide>(saturated(end) - from, std::min(kMinSpan, limitSpan_), limitSpan_));
  begin_ = static_cast<Nanoseconds>(
      std::clamp<Wide>(from, limitBegin_, Wide{limitBegin_} + limitSpan_ - span_));
}

void TimeAxis::zoom(int x, int numerator, int denominator) {
  // Computed in units of 1 / width ns, so that zooming in and out again comes back to the same
  // view.
  const Wide fixed = Wide{begin_} * width_ + Wide{x} * span_;
  const Wide span = std::clamp<Wide>(floorDiv(Wide{span_} * numerator, denominator),
                                     std::min(kMinSpan, limitSpan_), limitSpan_);
  const Wide begin = floorDiv(fixed - Wide{x} * span + width_ / 2, width_);
  show(saturated(begin), saturated(begin + span));
}

void TimeAxis::pan(int pixels) {
  const Wide begin = begin_ - floorDiv(Wide{pixels} * span_ + width_ / 2, width_);
  show(saturated(begin), saturated(begin + span_));
}

void TimeAxis::alignToPixels() {
  const Nanoseconds pixel = (span_ + width_ / 2) / width_;
  if (span_ == limitSpan_ || pixel < width_) return;
  show(begin_, begin_ + pixel * width_);
}

int TimeAxis::xOf(Nanoseconds time) const {
  const Wide x = floorDiv((Wide{time} - begin_) * width_, span_);
  return static_cast<int>(std::clamp<Wide>(x, -kFar, kFar));
}

Nanoseconds TimeAxis::timeAt(int x) const {
  return saturated(begin_ + ceilDiv(Wide{x} * span_, width_));
}

Nanoseconds TimeAxis::durationOf(int pixels) const {
  return saturated(ceilDiv(Wide{pixels} * span_, width_));
}

}  // namespace pipetrace
