#pragma once

#include <string>
#include <vector>

namespace pipetrace::testing {

/// The host of each rank, for hosts h0, h1, ... with as many ranks, in the order of ranks.
inline std::vector<std::string> hostNames(const std::vector<int>& ranksOfHosts) {
  std::vector<std::string> names;
  for (const int ranks : ranksOfHosts) {
    const std::string number =
        std::to_string(names.empty() ? 0 : std::stoi(names.back().substr(1)) + 1);
    names.insert(names.end(), static_cast<std::size_t>(ranks), "h" + number);
  }
  return names;
}

}  // namespace pipetrace::testing
