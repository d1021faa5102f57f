#include "profiler/cuda/clock.h"

#include <algorithm>

namespace pipetrace {
namespace {

/// a * b / c without overflow on the way; c > 0.
Nanoseconds scaled(Nanoseconds a, Nanoseconds b, Nanoseconds c) {
  Nanoseconds product = 0;
  if (!__builtin_mul_overflow(a, b, &product)) [[likely]]
    return product / c;
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
  // Times are rarely older than the last anchor but one.
  std::size_t after = anchors_.size() - 1;
  while (after > 1 && device < anchors_[after - 1].device) --after;
  const DeviceAnchor& b = anchors_[after];
  const DeviceAnchor& a = anchors_[after - 1];
  const Nanoseconds length = b.device - a.device;
  const Nanoseconds into = device - a.device;
  // The difference of the clocks is so small that it can be scaled without a larger type.
  host.time = a.host + into + scaled(into, b.host - a.host - length, length);
  if (into >= 0) {
    host.bound = a.halfWidth + scaled(into, b.halfWidth - a.halfWidth, length) +
                 wanderOver(std::min(into, length - into));
  } else {
    host.bound = a.halfWidth + scaled(-into, a.halfWidth + b.halfWidth, length) + wanderOver(-into);
  }
  return true;
}

}  // namespace pipetrace
