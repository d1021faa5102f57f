#include "chart/rows/counter_index.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

namespace pipetrace {
namespace {

constexpr std::size_t kFanOut = 16;
constexpr ValueRange kNoValues{std::numeric_limits<double>::infinity(),
                               -std::numeric_limits<double>::infinity()};

void add(ValueRange& range, const ValueRange& other) {
  range.least = std::min(range.least, other.least);
  range.greatest = std::max(range.greatest, other.greatest);
}

ValueRange rangeOf(const CounterSample& sample) {
  return std::isfinite(sample.value) ? ValueRange{sample.value, sample.value} : kNoValues;
}

std::string shortNumber(double value) {
  std::array<char, 32> text{};
  // As "%.4g", but with a point in every locale.
  const auto [end, error] =
      std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::general, 4);
  return {text.data(), end};
}

}  // namespace

CounterIndex::CounterIndex(const CounterSeries& series) : series_(&series) {
  std::vector<ValueRange> level;
  for (std::size_t i = 0; i < series.samples.size(); ++i) {
    if (i % kFanOut == 0) level.push_back(kNoValues);
    add(level.back(), rangeOf(series.samples[i]));
  }
  while (!level.empty()) {
    std::vector<ValueRange> above;
    for (std::size_t i = 0; level.size() > 1 && i < level.size(); ++i) {
      if (i % kFanOut == 0) above.push_back(kNoValues);
      add(above.back(), level[i]);
    }
    levels_.push_back(std::move(level));
    level = std::move(above);
  }
}

std::size_t CounterIndex::firstAfter(Nanoseconds time) const {
  const auto& samples = series_->samples;
  const auto after =
      std::upper_bound(samples.begin(), samples.end(), time,
                       [](Nanoseconds t, const CounterSample& sample) { return t < sample.time; });
  return static_cast<std::size_t>(after - samples.begin());
}

std::optional<ValueRange> CounterIndex::of(std::size_t first, std::size_t last) const {
  ValueRange range = kNoValues;
  const auto addOne = [&](std::size_t level, std::size_t i) {
    add(range, level == 0 ? rangeOf(series_->samples[i]) : levels_[level - 1][i]);
  };
  for (std::size_t level = 0; first < last; ++level) {
    if (level == levels_.size()) {
      while (first < last) addOne(level, first++);
      break;
    }
    while (first < last && first % kFanOut != 0) addOne(level, first++);
    while (first < last && last % kFanOut != 0) addOne(level, --last);
    first /= kFanOut;
    last /= kFanOut;
  }
  if (range.least > range.greatest) return std::nullopt;
  return range;
}

std::optional<double> CounterIndex::at(Nanoseconds time) const {
  const std::size_t after = firstAfter(time);
  if (after == 0 || !std::isfinite(series_->samples[after - 1].value)) return std::nullopt;
  return series_->samples[after - 1].value;
}

std::optional<ValueRange> CounterIndex::in(Nanoseconds begin, Nanoseconds end) const {
  std::size_t first = firstAfter(begin - 1);
  const std::size_t last = firstAfter(end - 1);
  const bool isCarried = first > 0 && (first == last || series_->samples[first].time > begin);
  if (isCarried) --first;
  return of(first, last);
}

std::optional<ValueRange> CounterIndex::range() const { return of(0, series_->samples.size()); }

std::string counterText(double value, const std::string& unit) {
  if (unit != "bytes") return shortNumber(value) + (unit.empty() ? "" : " " + unit);
  constexpr std::array kUnits{"bytes", "KiB", "MiB", "GiB", "TiB", "PiB"};
  std::size_t i = 0;
  while (i + 1 < kUnits.size() && std::abs(value) >= 1024) {
    value /= 1024;
    ++i;
  }
  return shortNumber(value) + " " + kUnits[i];
}

}  // namespace pipetrace
