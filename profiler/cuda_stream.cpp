#include "profiler/cuda_stream.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "profiler/cuda_scope.h"

namespace pipetrace {
namespace {

using Status = CudaApi::Status;

// After that many refusals in a row the stream is left alone: every one costs the program a call
// that fails.
constexpr int kMostRefusals = 3;
// That many marks waiting for the next comparison of clocks are worth one before its time.
constexpr std::size_t kManyWaiting = 8192;
// Marks of jobs that a full ring dropped are never asked for, and go when a later one is.
constexpr std::size_t kMostKept = 1U << 18;
// Longer than that, the start's own distance from a comparison of clocks is the better measure.
constexpr Nanoseconds kLongJob = 2 * CudaDevice::kAnchorEvery;
// What rounding may add up to along back-to-back jobs before they are measured afresh.
constexpr Nanoseconds kMostRounding = 200;

/// An address of its own for every thread.
const void* thisThread() noexcept {
  thread_local const char self = 0;
  return &self;
}

}  // namespace

CudaStream::CudaStream(std::shared_ptr<CudaDevice> device, CudaApi::Stream stream,
                       const CudaStreamOptions& options)
    : device_(std::move(device)),
      api_(device_->api()),
      stream_(stream),
      shareWithin_(static_cast<Mark>(std::max<Nanoseconds>(options.shareWithin, 0))),
      clock_(options.clock),
      queued_(2 * std::max<std::size_t>(options.events, 4)) {
  const CudaScope scope(api_, device_->index(), CudaScope::Thread::kPrograms);
  pool_ = std::make_unique<EventPool>(api_, device_->stream(), options.events);
}

CudaStream::~CudaStream() {
  const CudaScope scope(api_, device_->index(), CudaScope::Thread::kPrograms);
  if (isDead_.load(std::memory_order_relaxed)) pool_->abandon();
  pool_.reset();
}

void CudaStream::useClock(const HostClock& clock) noexcept {
  ticks_ = &clock;
  constexpr std::uint64_t kTicks = 1'000'000;
  const Nanoseconds length = std::max<Nanoseconds>(clock.duration(kTicks), 1);
  shareWithin_ = shareWithin_ * kTicks / static_cast<Mark>(length);
}

DeviceStream::Mark CudaStream::newMark() noexcept {
  const Mark now = ticks_ != nullptr ? ticks_->ticks() : static_cast<Mark>(api_.hostNow());
  lastMark_ = std::max(lastMark_ + 1, now);
  return lastMark_;
}

EventPool::Index CudaStream::record() noexcept {
  // A record during capture would put the event into the graph, and asking for it later would spoil
  // the capture.
  if (api_.isCapturing(stream_)) {
    add(captured_);
    return EventPool::kNone;
  }
  const EventPool::Index event = pool_->take();
  if (event == EventPool::kNone) {
    add(exhausted_);
    return EventPool::kNone;
  }
  if (api_.record(pool_->at(event), stream_) != Status::kOk) {
    pool_->untake();
    add(refused_);
    if (++refusals_ >= kMostRefusals) isDead_.store(true, std::memory_order_relaxed);
    return EventPool::kNone;
  }
  refusals_ = 0;
  add(records_);
  return event;
}

bool CudaStream::queue(const Slot& slot) noexcept {
  if (queued_.push(slot)) return true;
  if (slot.event != EventPool::kNone) add(exhausted_);
  return false;
}

DeviceStream::Mark CudaStream::markStart() noexcept {
  const Mark endedAt = lastMark_;
  const Mark now = newMark();
  if (isDead_.load(std::memory_order_relaxed)) return now;
  const bool share = shareable_ && now - endedAt <= shareWithin_ && endedBy_ == thisThread();
  shareable_ = false;
  if (share) add(shared_);
  const EventPool::Index event = share ? kShared : record();
  queue({.mark = now, .event = event, .isStart = true});
  return now;
}

DeviceStream::Mark CudaStream::mark() noexcept {
  if (isDead_.load(std::memory_order_relaxed)) return newMark();
  const EventPool::Index event = record();
  // Read after the record, which can take longer than a start may lie behind to be shared.
  const Mark now = newMark();
  shareable_ = queue({.mark = now, .event = event}) && event != EventPool::kNone;
  endedBy_ = thisThread();
  return now;
}

void CudaStream::poll(bool hurry) noexcept {
  const CudaScope scope(api_, device_->index(), CudaScope::Thread::kOurs);
  if (!scope.isThere()) fail();
  if (isDead_.load(std::memory_order_relaxed)) {
    giveUp();
    return;
  }
  device_->poll(false);
  takeFinished();
  const bool isWaiting = newest_ > device_->clock().last().device;
  if (isWaiting && (hurry || known_.size() > kManyWaiting)) device_->poll(true);
}

void CudaStream::takeFinished() noexcept {
  while (const Slot* slot = queued_.front()) {
    if (slot->isStart) {
      if (open_.mark != 0) keepStart(kUnknown);  // its end never came
      open_ = *slot;
    } else if (!takeEnd(*slot)) {
      return;
    }
    queued_.pop();
    if (isDead_.load(std::memory_order_relaxed)) return;
  }
}

/// False: the device has not come to it yet.
bool CudaStream::takeEnd(const Slot& end) noexcept {
  if (end.event != EventPool::kNone) {
    const Status status = api_.query(pool_->at(end.event));
    if (status == Status::kNotReady) return false;
    if (status == Status::kOk && timeJob(end)) {
      failures_ = 0;
      return true;
    }
    fail();
  }
  keepStart(kUnknown);
  keepEnd(end, kUnknown);
  return true;
}

/// False: the runtime failed.
bool CudaStream::timeJob(const Slot& end) noexcept {
  BoundedTime endTime;
  if (!device_->deviceTime(pool_->at(end.event), endTime)) return false;
  if (open_.mark == 0 || open_.event == EventPool::kNone) {
    keepStart(kUnknown);
  } else if (open_.event == kShared) {
    if (!timeAfterLastEnd(end, endTime)) return false;
  } else if (!timeOwnStart(end, endTime)) {
    return false;
  }
  keepEnd(end, endTime);
  return true;
}

/// The job begins where the one before ended, to the nanosecond, and lasts as long as the runtime
/// says, as far as rounding allows. `time` is the end's as it was measured by itself.
bool CudaStream::timeAfterLastEnd(const Slot& end, BoundedTime& time) noexcept {
  const BoundedTime start = lastEnd_;
  keepStart(start);
  if (start.time == kLost) return true;
  BoundedTime duration;
  if (!device_->elapsed(pool_->at(lastEndEvent_), pool_->at(end.event), duration)) return false;
  const Nanoseconds bound = start.bound + duration.bound;
  if (bound > time.bound + kMostRounding) {
    time.time = std::max(time.time, start.time);
  } else {
    time = {.time = start.time + duration.time, .bound = bound};
  }
  return true;
}

bool CudaStream::timeOwnStart(const Slot& end, const BoundedTime& endTime) noexcept {
  const CudaApi::Event event = pool_->at(open_.event);
  BoundedTime duration;
  if (!device_->elapsed(event, pool_->at(end.event), duration)) return false;
  BoundedTime start{.time = endTime.time - duration.time, .bound = endTime.bound + duration.bound};
  if (duration.time > kLongJob && !device_->deviceTime(event, start)) return false;
  keepStart(start);
  return true;
}

/// The open start, if there is one, becomes known.
void CudaStream::keepStart(const BoundedTime& device) {
  if (open_.mark == 0) return;
  keep({.mark = open_.mark, .device = device, .isStart = true});
  if (open_.event != kShared && open_.event != EventPool::kNone) release(open_.event);
  open_ = {};
}

void CudaStream::keepEnd(const Slot& end, const BoundedTime& device) {
  keep({.mark = end.mark, .device = device});
  if (lastEndEvent_ != EventPool::kNone) release(lastEndEvent_);
  lastEnd_ = device;
  // Kept until the next job is known, which may have to be measured from it.
  lastEndEvent_ = end.event;
}

void CudaStream::keep(const Known& known) {
  if (known.device.time == kLost) {
    add(lost_);
  } else {
    newest_ = known.device.time;
  }
  known_.push_back(known);
  if (known_.size() > kMostKept) known_.pop_front();
}

/// Events come free in order, so this one frees those before it.
void CudaStream::release(EventPool::Index index) noexcept {
  pool_->releaseUpTo(index);
  lastEndEvent_ = EventPool::kNone;
}

void CudaStream::fail() noexcept {
  if (++failures_ >= kMostRefusals) isDead_.store(true, std::memory_order_relaxed);
}

void CudaStream::giveUp() noexcept {
  if (!saidSo_) {
    saidSo_ = true;
    std::fprintf(stderr, "pipetrace: CUDA device %d: jobs are no longer timed: %s\n",
                 device_->index(), api_.lastError().c_str());
  }
  while (const Slot* slot = queued_.front()) {
    if (slot->isStart) {
      keepStart(kUnknown);
      open_ = *slot;
    } else {
      keepStart(kUnknown);
      keep({.mark = slot->mark, .device = kUnknown});
    }
    queued_.pop();
  }
  keepStart(kUnknown);
}

bool CudaStream::isOnItsWay(Mark mark) noexcept {
  if (open_.mark != 0 && open_.mark <= mark) return true;
  const Slot* const next = queued_.front();
  return next != nullptr && next->mark <= mark;
}

const CudaStream::Known* CudaStream::find(Mark mark) noexcept {
  const auto isBefore = [](const Known& known, Mark wanted) { return known.mark < wanted; };
  const auto at = std::lower_bound(known_.begin(), known_.end(), mark, isBefore);
  // Jobs are asked for in order, start before end: what lies before a start is done with.
  if (at != known_.end() && at->isStart) known_.erase(known_.begin(), at);
  const auto found = std::lower_bound(known_.begin(), known_.end(), mark, isBefore);
  return found != known_.end() && found->mark == mark ? &*found : nullptr;
}

bool CudaStream::resolve(Mark mark, BoundedTime& time) noexcept {
  time = kUnknown;
  const Known* const known = find(mark);
  if (known == nullptr) return !isOnItsWay(mark);
  if (known->device.time == kLost) return true;
  if (!device_->clock().toHost(known->device.time, time)) {
    time = kUnknown;
    return isDead_.load(std::memory_order_relaxed);
  }
  time.bound += known->device.bound;
  // Interpolation between other anchors must not let a job begin before the end of the one ahead.
  time.time = std::max(time.time, lastTime_);
  lastTime_ = time.time;
  if (time.bound > worstBound_.load(std::memory_order_relaxed)) {
    worstBound_.store(time.bound, std::memory_order_relaxed);
  }
  return true;
}

bool CudaStream::resolve(Mark mark, Nanoseconds& time) noexcept {
  BoundedTime bounded;
  if (!resolve(mark, bounded)) return false;
  time = bounded.time == kLost ? kLost : clock_.at(bounded.time);
  return true;
}

CudaStreamCounts CudaStream::counts() const noexcept {
  const auto read = [](const Count& count) { return count.load(std::memory_order_relaxed); };
  return {.records = read(records_),
          .shared = read(shared_),
          .exhausted = read(exhausted_),
          .captured = read(captured_),
          .refused = read(refused_),
          .lost = read(lost_),
          .worstBound = read(worstBound_)};
}

}  // namespace pipetrace
