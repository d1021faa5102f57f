#include "trace/run_parts.h"

#include <algorithm>

namespace pipetrace {

std::size_t partAt(std::span<const Nanoseconds> begins, Nanoseconds time) {
  return static_cast<std::size_t>(std::upper_bound(begins.begin(), begins.end(), time) -
                                  begins.begin());
}

std::vector<Nanoseconds> partBeginsOf(const Timeline& timeline) {
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
