#include "parser/profile/launch_arrows.h"

#include <unordered_map>

namespace pipetrace {
namespace {

std::unordered_map<std::int64_t, std::uint32_t> jobsOf(const Track& track) {
  std::unordered_map<std::int64_t, std::uint32_t> jobs;
  for (std::uint32_t e = 0; e < track.events.size(); ++e) {
    if (track.events[e].job >= 0) jobs.try_emplace(track.events[e].job, e);
  }
  return jobs;
}

}  // namespace

std::vector<Arrow> findLaunchArrows(const Timeline& timeline) {
  std::vector<Arrow> arrows;
  for (std::uint32_t h = 0; h < timeline.tracks.size(); ++h) {
    const Track& host = timeline.tracks[h];
    if (host.lane != kHostLane) continue;
    const Track* const compute = timeline.findTrack(host.rank, kComputeLane);
    if (compute == nullptr) continue;
    const auto c = static_cast<std::uint32_t>(compute - timeline.tracks.data());
    const auto jobs = jobsOf(*compute);
    for (std::uint32_t e = 0; e < host.events.size(); ++e) {
      const Event& from = host.events[e];
      const auto found = jobs.find(from.job);
      if (found == jobs.end() || !hasInside(from)) continue;
      const Event& to = compute->events[found->second];
      if (hasInside(to) && from.begin < to.begin) arrows.push_back({{h, e}, {c, found->second}});
    }
  }
  return arrows;
}

}  // namespace pipetrace
