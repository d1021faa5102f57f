#include "chart/search/usual_times.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace pipetrace {
namespace {

constexpr std::size_t kMostSamples = 20'000;  // of a track

}  // namespace

std::uint64_t UsualTimes::keyOf(const Event& event) {
  return static_cast<std::uint64_t>(event.phase) << 48U |
         static_cast<std::uint64_t>(event.kind) << 32U | static_cast<std::uint32_t>(event.stage);
}

Nanoseconds UsualTimes::ownTimeOf(const Event& event) const {
  if (!own_) return event.duration();
  const auto found = own_->find(&event);
  return found == own_->end() ? event.duration() : found->second;
}

UsualTimes::UsualTimes(const Timeline& timeline, std::shared_ptr<const JobOwnTimes> own)
    : own_(std::move(own)) {
  std::map<std::uint64_t, std::vector<Nanoseconds>> times;
  for (const Track& track : timeline.tracks) {
    if (track.lane != kComputeLane) continue;
    const std::size_t stride = track.events.size() / kMostSamples + 1;
    for (std::size_t i = 0; i < track.events.size(); i += stride) {
      const Event& event = track.events[i];
      if (isCompute(event.kind)) times[keyOf(event)].push_back(ownTimeOf(event));
    }
  }
  for (auto& [key, of] : times) {
    const auto middle = of.begin() + static_cast<std::ptrdiff_t>((of.size() - 1) / 2);
    std::nth_element(of.begin(), middle, of.end());
    medians_[key] = *middle;
  }
}

std::optional<double> UsualTimes::factorOf(const Event& event) const {
  if (!isCompute(event.kind)) return std::nullopt;
  const auto usual = medians_.find(keyOf(event));
  if (usual == medians_.end() || usual->second <= 0) return std::nullopt;
  return static_cast<double>(ownTimeOf(event)) / static_cast<double>(usual->second);
}

}  // namespace pipetrace
