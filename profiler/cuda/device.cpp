#include "profiler/cuda/device.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "profiler/cuda/scope.h"
#include "trace/error.h"

namespace pipetrace {
namespace {

// A try that takes longer is too inaccurate to use, and must not hold up the thread.
constexpr Nanoseconds kSpinLimit = 2 * kNsPerMs;

BoundedTime fromMilliseconds(float milliseconds) {
  // The float after one has the next bit pattern.
  const float size = std::fabs(milliseconds);
  const float step = std::bit_cast<float>(std::bit_cast<std::uint32_t>(size) + 1) - size;
  // Exact: a float has 24 bits, and a double room for those and the factor.
  const double nanoseconds = static_cast<double>(milliseconds) * 1e6;
  return {.time = static_cast<Nanoseconds>(nanoseconds + std::copysign(0.5, nanoseconds)),
          .bound = static_cast<Nanoseconds>(static_cast<double>(step) * 0.5e6) + 1};
}

}  // namespace

CudaDevice::CudaDevice(std::shared_ptr<CudaApi> api, int device)
    : api_(std::move(api)), index_(device) {
  const std::string what = "cannot record CUDA device " + std::to_string(device) + ": ";
  if (const int count = api_->deviceCount(); device < 0 || device >= count) {
    throw Error(what + "there are " + std::to_string(count) + "; without a driver there are none");
  }
  const CudaScope scope(*api_, device, CudaScope::Thread::kPrograms);
  if (!scope.isThere()) throw Error(what + api_->lastError());
  try {
    createEvents();
    if (!takeAnchor()) throw Error(what + "it does not answer: " + api_->lastError());
  } catch (...) {
    destroyEvents();
    throw;
  }
}

CudaDevice::~CudaDevice() {
  const CudaScope scope(*api_, index_, CudaScope::Thread::kPrograms);
  destroyEvents();
}

void CudaDevice::createEvents() {
  const auto needed = [&](void* made) {
    if (made == nullptr) {
      throw Error("cannot make the stream and events that recording CUDA device " +
                  std::to_string(index_) + " needs: " + api_->lastError());
    }
    return made;
  };
  stream_ = needed(api_->createStream());
  spare_ = needed(api_->createEvent());
  for (Anchor& anchor : anchors_) anchor.event = needed(api_->createEvent());
}

void CudaDevice::destroyEvents() noexcept {
  for (const Anchor& anchor : anchors_) {
    if (anchor.event != nullptr) api_->destroyEvent(anchor.event);
  }
  if (spare_ != nullptr) api_->destroyEvent(spare_);
  if (stream_ != nullptr) api_->destroyStream(stream_);
}

void CudaDevice::poll(bool hurry) noexcept {
  const Nanoseconds since = api_->hostNow() - lastTry_;
  if (since < (hurry ? kAnchorSoonest : kAnchorEvery)) return;
  if (!takeAnchor()) ++failedAnchors_;
}

bool CudaDevice::tryAnchor(CudaApi::Event event, Nanoseconds& before, Nanoseconds& after) noexcept {
  before = api_->hostNow();
  if (api_->record(event, stream_) != CudaApi::Status::kOk) return false;
  for (;;) {
    const CudaApi::Status status = api_->query(event);
    after = api_->hostNow();
    if (status != CudaApi::Status::kNotReady) return status == CudaApi::Status::kOk;
    if (after - before > kSpinLimit) return false;
  }
}

bool CudaDevice::takeAnchor() noexcept {
  Anchor& anchor = anchorAt(taken_);
  Nanoseconds narrowest = kNsMax;
  DeviceAnchor best;
  for (int i = 0; i < kTries; ++i) {
    Nanoseconds before = 0;
    Nanoseconds after = 0;
    if (!tryAnchor(spare_, before, after) || after - before >= narrowest) continue;
    narrowest = after - before;
    best.host = before + narrowest / 2;
    best.halfWidth = narrowest - narrowest / 2;
    std::swap(spare_, anchor.event);
  }
  lastTry_ = api_->hostNow();
  if (narrowest == kNsMax) return false;
  if (taken_ > 0) {
    const Anchor& last = anchorAt(taken_ - 1);
    BoundedTime since;
    if (!elapsed(last.event, anchor.event, since)) return false;
    best.device = last.device + since.time;
    best.halfWidth += since.bound;
  }
  anchor.device = best.device;
  ++taken_;
  clock_.add(best);
  return true;
}

const CudaDevice::Anchor& CudaDevice::closestTo(Nanoseconds device) const noexcept {
  // Not the oldest slot: a comparison that did not work out may have used its event.
  const std::size_t oldest = taken_ < kKeptEvents ? 0 : taken_ - kKeptEvents + 1;
  std::size_t closest = taken_ - 1;
  // Times are rarely older than the last comparison but one.
  while (closest > oldest && std::llabs(anchors_[(closest - 1) % kKeptEvents].device - device) <
                                 std::llabs(anchors_[closest % kKeptEvents].device - device)) {
    --closest;
  }
  return anchors_[closest % kKeptEvents];
}

bool CudaDevice::deviceTime(CudaApi::Event event, BoundedTime& time) noexcept {
  const Anchor* anchor = &anchorAt(taken_ - 1);
  for (int i = 0; i < 2; ++i) {
    BoundedTime since;
    if (!elapsed(anchor->event, event, since)) return false;
    time = {.time = anchor->device + since.time, .bound = since.bound};
    const Anchor* const closest = &closestTo(time.time);
    if (closest == anchor) break;
    anchor = closest;
  }
  return true;
}

bool CudaDevice::elapsed(CudaApi::Event from, CudaApi::Event to, BoundedTime& duration) noexcept {
  float milliseconds = 0;
  if (api_->elapsed(from, to, milliseconds) != CudaApi::Status::kOk) return false;
  duration = fromMilliseconds(milliseconds);
  return true;
}

}  // namespace pipetrace
