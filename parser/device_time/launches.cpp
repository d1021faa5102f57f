#include "parser/device_time/launches.h"

#include <algorithm>
#include <utility>

namespace pipetrace {
namespace {

bool comesBefore(const Launch& a, const Launch& b) {
  return a.correlation != b.correlation ? a.correlation < b.correlation : a.time < b.time;
}

}  // namespace

Launches::Launches(const HostJobs& jobs, std::vector<Launch> launches)
    : jobs_(jobs), launches_(std::move(launches)) {
  if (!std::is_sorted(launches_.begin(), launches_.end(), comesBefore)) {
    std::stable_sort(launches_.begin(), launches_.end(), comesBefore);
  }
  hasRepeats_ =
      std::adjacent_find(launches_.begin(), launches_.end(), [](const Launch& a, const Launch& b) {
        return a.correlation == b.correlation;
      }) != launches_.end();
}

std::span<const Launch> Launches::ofCorrelation(std::int64_t correlation) const {
  const auto first = std::partition_point(launches_.begin(), launches_.end(), [&](const Launch& l) {
    return l.correlation < correlation;
  });
  auto last = first;
  while (last != launches_.end() && last->correlation == correlation) ++last;
  return {first, last};
}

bool Launches::isKnown(const Use& use) const {
  return std::binary_search(uses_.begin(), uses_.end(), use);
}

void Launches::learnDevice(std::int64_t correlation, std::uint32_t device) {
  const auto list = ofCorrelation(correlation);
  if (list.size() != 1) return;
  const Use use{list.front().process, device};
  const auto at = std::lower_bound(uses_.begin(), uses_.end(), use);
  if (at == uses_.end() || *at != use) uses_.insert(at, use);
}

LaunchedBy Launches::find(std::int64_t correlation, Nanoseconds begin, std::uint32_t device) const {
  const auto list = ofCorrelation(correlation);
  if (list.empty()) return {};
  const auto isOfDevice = [&](const Launch& l) { return isKnown({l.process, device}); };
  const bool anyOfDevice = list.size() > 1 && std::any_of(list.begin(), list.end(), isOfDevice);
  const Launch* best = nullptr;
  for (const Launch& launch : list) {
    if (anyOfDevice && !isOfDevice(launch)) continue;
    if (best == nullptr || launch.time <= begin) best = &launch;
  }
  LaunchedBy found = jobOf(*best);
  found.isBeforeLaunch = begin < best->time;
  found.launch = best;
  return found;
}

LaunchedBy Launches::jobOf(const Launch& launch) const {
  const std::int32_t own = jobs_.openAt(launch.thread, launch.time);
  if (own != HostJobs::kNone) return {.job = own, .origin = LaunchOrigin::kJob};
  if (!launch.isByAutograd) return {.origin = LaunchOrigin::kOutside};
  std::vector<std::int32_t> open = jobs_.backwardsOpenAt(launch.process, launch.time);
  if (open.empty()) return {.origin = LaunchOrigin::kOutside};
  if (open.size() > 1 && launch.forwardJob != HostJobs::kNone) {
    const HostJob& forward = jobs_[launch.forwardJob];
    std::erase_if(open, [&](std::int32_t job) {
      const HostJob& backward = jobs_[job];
      return backward.stage != forward.stage || backward.microBatch != forward.microBatch;
    });
  }
  if (open.size() != 1) return {.origin = LaunchOrigin::kUndecided};
  return {.job = open.front(), .origin = LaunchOrigin::kAutograd};
}

}  // namespace pipetrace
