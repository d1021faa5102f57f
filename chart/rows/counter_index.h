#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "trace/timeline.h"

namespace pipetrace {

/// The least and the greatest of some values.
struct ValueRange {
  double least = 0;
  double greatest = 0;
};

/// A counter as a step curve: a sample counts until the next one. The range of any stretch of time
/// costs the logarithm of the samples in it. Values that are not finite are gaps. Refers to the
/// series, which must outlive it. Immutable.
class CounterIndex {
 public:
  explicit CounterIndex(const CounterSeries& series);

  int rank() const { return series_->rank; }
  const std::string& name() const { return series_->name; }
  const std::string& unit() const { return series_->unit; }

  /// The value at `time`; nothing before the first sample and in gaps.
  std::optional<double> at(Nanoseconds time) const;
  /// The range of the curve in [begin, end); nothing where it has no value.
  std::optional<ValueRange> in(Nanoseconds begin, Nanoseconds end) const;
  /// The range of all samples; nothing if there are none.
  std::optional<ValueRange> range() const;

 private:
  std::size_t firstAfter(Nanoseconds time) const;
  std::optional<ValueRange> of(std::size_t first, std::size_t last) const;

  const CounterSeries* series_;
  std::vector<std::vector<ValueRange>> levels_;  // of 16, 256, … samples each
};

/// A value with its unit: "3.2 GiB" of bytes, "0.125", "17 jobs".
std::string counterText(double value, const std::string& unit);

}  // namespace pipetrace
