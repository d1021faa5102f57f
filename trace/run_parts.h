#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "trace/timeline.h"

namespace pipetrace {

/// The part that `time` is in, from 0. `begins`: of the later parts, ascending.
inline std::size_t partAt(std::span<const Nanoseconds> begins, Nanoseconds time) {
  return static_cast<std::size_t>(std::upper_bound(begins.begin(), begins.end(), time) -
                                  begins.begin());
}

/// When each later part of the run begins, on the rank where it begins first
/// (RankInfo::partBegins). Empty for a run that was recorded in one part.
inline std::vector<Nanoseconds> partBeginsOf(const Timeline& timeline) {
  std::vector<Nanoseconds> begins;
  for (const auto& [rank, info] : timeline.ranks) {
    if (begins.size() < info.partBegins.size()) begins.resize(info.partBegins.size(), kNsMax);
    for (std::size_t i = 0; i < info.partBegins.size(); ++i) {
      begins[i] = std::min(begins[i], info.partBegins[i]);
    }
  }
  return begins;
}

}  // namespace pipetrace
