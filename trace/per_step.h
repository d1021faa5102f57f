#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace pipetrace {

/// A value for each step, made on first access. Steps that come in ascending order take no more
/// memory than a list.
template <typename Value>
class PerStep {
 public:
  using Entry = std::pair<std::int32_t, Value>;

  /// The value of `step`, valid until the next call.
  Value& operator[](std::int32_t step) {
    if (latest_ < ordered_.size()) {
      if (ordered_[latest_].first == step) return ordered_[latest_].second;
      if (latest_ + 1 < ordered_.size() && ordered_[latest_ + 1].first == step) {
        return ordered_[++latest_].second;
      }
    }
    if (ordered_.empty() || step > ordered_.back().first) {
      latest_ = ordered_.size();
      return ordered_.emplace_back(step, Value{}).second;
    }
    const auto found = std::partition_point(ordered_.begin(), ordered_.end(),
                                            [&](const Entry& entry) { return entry.first < step; });
    if (found->first != step) return late_[step];
    latest_ = static_cast<std::size_t>(found - ordered_.begin());
    return found->second;
  }

  /// All values in the order of their steps. Afterwards this object is empty.
  std::vector<Entry> take() {
    if (!late_.empty()) {
      const std::size_t before = ordered_.size();
      for (auto& [step, value] : late_) ordered_.emplace_back(step, std::move(value));
      std::inplace_merge(ordered_.begin(), ordered_.begin() + static_cast<std::ptrdiff_t>(before),
                         ordered_.end(),
                         [](const Entry& a, const Entry& b) { return a.first < b.first; });
      late_.clear();
    }
    latest_ = 0;
    return std::exchange(ordered_, {});
  }

 private:
  std::vector<Entry> ordered_;
  std::size_t latest_ = 0;              // index in ordered_ of the last access
  std::map<std::int32_t, Value> late_;  // steps that came after higher ones
};

}  // namespace pipetrace
