#include "profiler/cuda_clock.h"

#include <algorithm>
#include <iterator>

namespace pipetrace {
namespace {

/// a * b / c without overflow on the way; c > 0.
Nanoseconds scaled(Nanoseconds a, Nanoseconds b, Nanoseconds c) {
  __extension__ using Wide = __int128;
  return static_cast<Nanoseconds>(static_cast<Wide>(a) * b / c);
}

Nanoseconds wanderOver(Nanoseconds duration) {
  return duration * CudaClock::kWanderPpm / 1'000'000 + 1;
}

}  // namespace

void CudaClock::add(const DeviceAnchor& anchor) {
  const std::size_t n = anchors_.size();
  if (n > 0 && (anchor.device <= last().device || anchor.host <= last().host)) return;
  if (n > 1 && last().device - anchors_[n - 2].device < kClose) anchors_.pop_back();
  anchors_.push_back(anchor);
  if (anchors_.size() > kKept) anchors_.pop_front();
}

bool CudaClock::toHost(Nanoseconds device, BoundedTime& host) const {
  if (anchors_.empty() || device > last().device) return false;
  if (device == last().device) {
    host = {.time = last().host, .bound = last().halfWidth};
    return true;
  }
  if (anchors_.size() < 2) return false;
  const auto isLater = [](Nanoseconds time, const DeviceAnchor& a) { return time < a.device; };
  auto after = std::upper_bound(anchors_.begin() + 1, anchors_.end(), device, isLater);
  const DeviceAnchor& b = *after;
  const DeviceAnchor& a = *std::prev(after);
  const Nanoseconds length = b.device - a.device;
  const Nanoseconds into = device - a.device;
  host.time = a.host + scaled(into, b.host - a.host, length);
  if (into >= 0) {
    host.bound = a.halfWidth + scaled(into, b.halfWidth - a.halfWidth, length) +
                 wanderOver(std::min(into, length - into));
  } else {
    host.bound = a.halfWidth + scaled(-into, a.halfWidth + b.halfWidth, length) + wanderOver(-into);
  }
  return true;
}

}  // namespace pipetrace
