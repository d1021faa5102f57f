#include "profiler/testing/fake_cuda.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

namespace pipetrace {
namespace {

// The time from the end of some work until the host can see the event after it.
constexpr Nanoseconds kSeenAfter = 2 * kNsPerUs;
constexpr Nanoseconds kCaptureCost = 2 * kNsPerUs;
constexpr double kWanderPeriod = 47e9;  // ns

}  // namespace

FakeCuda::FakeCuda(const FakeCudaBehaviour& behaviour)
    : behaviour_(behaviour), random_(behaviour.seed) {
  devices_.resize(static_cast<std::size_t>(behaviour.devices));
}

std::unique_lock<std::mutex> FakeCuda::call() {
  std::unique_lock lock(mutex_);
  ++calls_.all;
  now_ += behaviour_.callCost;
  return lock;
}

void FakeCuda::advance(Nanoseconds duration) {
  const std::lock_guard lock(mutex_);
  now_ += duration;
}

FakeCuda::Stream FakeCuda::newStream(int device) {
  const std::lock_guard lock(mutex_);
  const int generation = devices_[static_cast<std::size_t>(device)].generation;
  return &streams_.emplace_back(FakeStream{.device = device, .generation = generation});
}

void FakeCuda::work(Stream stream, Nanoseconds duration) {
  const std::lock_guard lock(mutex_);
  auto& on = *static_cast<FakeStream*>(stream);
  on.busyUntil = std::max(on.busyUntil, now_ + behaviour_.narrowest) + duration;
}

void FakeCuda::holdUntil(Stream stream, Nanoseconds time) {
  const std::lock_guard lock(mutex_);
  auto& on = *static_cast<FakeStream*>(stream);
  on.busyUntil = std::max(on.busyUntil, time);
  if (on.later.empty()) return;
  on.later.pop_front();
  for (; !on.later.empty() && on.later.front().event != nullptr; on.later.pop_front()) {
    const Later& next = on.later.front();
    FakeEvent& recorded = *next.event;
    recorded.at = on.busyUntil = std::max(on.busyUntil, next.recordedAt);
    recorded.visibleAt = std::max(recorded.at + kSeenAfter, on.lastVisibleAt);
    on.lastVisibleAt = recorded.visibleAt;
    on.lastRecordAt = recorded.at;
  }
}

void FakeCuda::hold(Stream stream) {
  const std::lock_guard lock(mutex_);
  static_cast<FakeStream*>(stream)->later.emplace_back();
}

Nanoseconds FakeCuda::doneAt(Stream stream) {
  const std::lock_guard lock(mutex_);
  return static_cast<FakeStream*>(stream)->busyUntil;
}

Nanoseconds FakeCuda::lastRecordAt(Stream stream) {
  const std::lock_guard lock(mutex_);
  return static_cast<FakeStream*>(stream)->lastRecordAt;
}

void FakeCuda::refuseRecords(int next) {
  const std::lock_guard lock(mutex_);
  refusals_ = next;
}

void FakeCuda::failQueries(int next) {
  const std::lock_guard lock(mutex_);
  queryFailures_ = next;
}

void FakeCuda::failElapsed(int next) {
  const std::lock_guard lock(mutex_);
  elapsedFailures_ = next;
}

void FakeCuda::hang(Stream stream, bool hangs) {
  const std::lock_guard lock(mutex_);
  static_cast<FakeStream*>(stream)->hangs = hangs;
}

void FakeCuda::reset(int device) {
  const std::lock_guard lock(mutex_);
  ++devices_[static_cast<std::size_t>(device)].generation;
}

void FakeCuda::beginCapture(Stream stream) {
  const std::lock_guard lock(mutex_);
  now_ += kCaptureCost;
  capturing_ = static_cast<FakeStream*>(stream);
  capturing_->isCapturing = true;
  captureIsValid_ = true;
}

bool FakeCuda::endCapture() {
  const std::lock_guard lock(mutex_);
  now_ += kCaptureCost;
  capturing_->isCapturing = false;
  capturing_ = nullptr;
  return captureIsValid_;
}

FakeCuda::Calls FakeCuda::calls() {
  const std::lock_guard lock(mutex_);
  return calls_;
}

std::int64_t FakeCuda::liveEvents() {
  const std::lock_guard lock(mutex_);
  return liveEvents_;
}

Nanoseconds FakeCuda::hostNow() noexcept {
  const std::lock_guard lock(mutex_);
  return now_;
}

int FakeCuda::deviceCount() noexcept { return behaviour_.devices; }

bool FakeCuda::deviceUuid(int device, Uuid& uuid) noexcept {
  std::iota(uuid.begin(), uuid.end(), static_cast<unsigned char>(16 * device));
  return behaviour_.hasUuids;
}

bool FakeCuda::setDevice(int device) noexcept {
  const auto lock = call();
  if (device < 0 || device >= behaviour_.devices) return false;
  thisThread().device = device;
  ++calls_.chosen.at(static_cast<std::size_t>(device));
  return true;
}

int FakeCuda::currentDevice() noexcept {
  const auto lock = call();
  return thisThread().device;
}

FakeCuda::Event FakeCuda::createEvent() noexcept {
  const auto lock = call();
  const int device = thisThread().device;
  ++liveEvents_;
  return &events_.emplace_back(FakeEvent{
      .device = device, .generation = devices_[static_cast<std::size_t>(device)].generation});
}

void FakeCuda::destroyEvent(Event event) noexcept {
  const auto lock = call();
  --liveEvents_;
  static_cast<void>(isStale(*static_cast<FakeEvent*>(event)));
}

FakeCuda::Stream FakeCuda::createStream() noexcept { return newStream(currentDevice()); }

void FakeCuda::destroyStream(Stream stream) noexcept {
  const auto lock = call();
  static_cast<void>(isStale(*static_cast<FakeStream*>(stream)));
}

FakeCuda::Status FakeCuda::record(Event event, Stream stream) noexcept {
  const auto lock = call();
  ++calls_.records;
  auto& on = *static_cast<FakeStream*>(stream);
  auto& recorded = *static_cast<FakeEvent*>(event);
  if (isStale(on) || isStale(recorded)) return Status::kFailed;
  if (on.isCapturing) return Status::kCapturing;
  if (takeOne(refusals_, "record refused")) return Status::kFailed;
  if (recorded.device != on.device) {
    lastError_ = "event and stream are of different devices";
    return Status::kFailed;
  }
  recorded.stream = &on;
  if (!on.later.empty()) {
    recorded.visibleAt = kNsMax;
    on.later.push_back({.event = &recorded, .recordedAt = now_});
    return Status::kOk;
  }
  if (on.busyUntil > now_) {
    recorded.at = on.busyUntil;
    recorded.visibleAt = recorded.at + kSeenAfter;
  } else {
    const Nanoseconds width = drawWidth();
    const double early = std::uniform_real_distribution<double>(0, 1)(random_);
    recorded.at = now_ + static_cast<Nanoseconds>(early * early * static_cast<double>(width));
    recorded.visibleAt = now_ + width;
    on.busyUntil = recorded.at;
  }
  // Events of a stream are over in their order.
  on.lastVisibleAt = recorded.visibleAt = std::max(recorded.visibleAt, on.lastVisibleAt);
  on.lastRecordAt = recorded.at;
  return Status::kOk;
}

FakeCuda::Status FakeCuda::query(Event event) noexcept {
  const auto lock = call();
  ++calls_.queries;
  const auto& asked = *static_cast<FakeEvent*>(event);
  if (isStale(asked)) return Status::kFailed;
  if (asked.device != thisThread().device) ++calls_.wrongDevice;
  if (capturing_ != nullptr && !thisThread().relaxed) captureIsValid_ = false;
  if (asked.stream == nullptr) return Status::kOk;
  if (asked.stream->hangs || now_ < asked.visibleAt) return Status::kNotReady;
  return takeOne(queryFailures_, "query failed") ? Status::kFailed : Status::kOk;
}

FakeCuda::Status FakeCuda::elapsed(Event from, Event to, float& milliseconds) noexcept {
  const auto lock = call();
  const auto& first = *static_cast<FakeEvent*>(from);
  const auto& second = *static_cast<FakeEvent*>(to);
  if (isStale(first) || isStale(second)) return Status::kFailed;
  if (takeOne(elapsedFailures_, "elapsed failed")) return Status::kFailed;
  for (const FakeEvent* event : {&first, &second}) {
    if (event->stream == nullptr || now_ < event->visibleAt) {
      lastError_ = "the event is not done";
      return Status::kFailed;
    }
  }
  milliseconds = static_cast<float>(static_cast<double>(stamp(second.at) - stamp(first.at)) / 1e6);
  return Status::kOk;
}

bool FakeCuda::exchangeRelaxedCapture(bool relaxed) noexcept {
  const auto lock = call();
  return std::exchange(thisThread().relaxed, relaxed);
}

std::string FakeCuda::lastError() {
  const std::lock_guard lock(mutex_);
  return lastError_;
}

Nanoseconds FakeCuda::drawWidth() {
  const Nanoseconds width =
      std::uniform_int_distribution<Nanoseconds>(behaviour_.narrowest, behaviour_.widest)(random_);
  const bool isWide =
      std::uniform_int_distribution<int>(1, behaviour_.oneInIsTenTimesWider)(random_) == 1;
  return isWide ? 10 * width : width;
}

Nanoseconds FakeCuda::stamp(Nanoseconds at) const {
  const auto t = static_cast<double>(at);
  const double turn = 2 * std::numbers::pi / kWanderPeriod;
  const double ahead =
      t * behaviour_.driftPpm * 1e-6 - behaviour_.wanderPpm * 1e-6 / turn * std::cos(turn * t);
  const Nanoseconds exact = at + static_cast<Nanoseconds>(std::llround(ahead));
  return exact / behaviour_.stampStep * behaviour_.stampStep;
}

template <typename T>
bool FakeCuda::isStale(const T& thing) {
  if (thing.generation == devices_[static_cast<std::size_t>(thing.device)].generation) return false;
  ++calls_.stale;
  lastError_ = "the device was reset";
  return true;
}

bool FakeCuda::takeOne(int& count, const char* error) {
  if (count == 0) return false;
  --count;
  lastError_ = error;
  return true;
}

}  // namespace pipetrace
