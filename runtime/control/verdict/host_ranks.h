#pragma once

#include <string>
#include <vector>

namespace pipetrace {

/// A host and its ranks, which are sorted.
struct HostRanks {
  std::string name;  ///< as the host calls itself
  std::vector<int> ranks;

  bool operator==(const HostRanks&) const = default;
};

/// Hosts as text: "host h3 (ranks 12 to 15)", "hosts h2 (ranks 8 to 11) and h3 (rank 12)". After
/// eight hosts the others are counted: "... and 92 more".
std::string hostsText(const std::vector<HostRanks>& hosts);

}  // namespace pipetrace
