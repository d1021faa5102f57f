#include "runtime/control/verdict/host_ranks.h"

#include "trace/text/ranks_text.h"

namespace pipetrace {

std::string hostsText(const std::vector<HostRanks>& hosts) {
  constexpr std::size_t kMost = 8;
  std::string text = hosts.size() == 1 ? "host " : "hosts ";
  for (std::size_t at = 0; at < hosts.size(); ++at) {
    const std::size_t left = hosts.size() - at;
    // "and 1 more" is no shorter than that one host.
    if (at >= kMost && left > 1) return text + " and " + std::to_string(left) + " more";
    text += at == 0 ? "" : left == 1 ? " and " : ", ";
    text += hosts[at].name + " (" + ranksText(hosts[at].ranks) + ")";
  }
  return text;
}

}  // namespace pipetrace
