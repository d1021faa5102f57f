#include "profiler/cuda/stream.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "profiler/cuda/scope.h"

namespace pipetrace {
namespace {

using Status = CudaApi::Status;

// After that many refusals in a row the stream is left alone: each costs the program a failed call.
constexpr int kMostRefusals = 3;
// After that many starts in a row that came too late to share an end, the clock is read for one end
// in as many. Reading it is a third of a job's cost.
constexpr std::uint32_t kMostLate = 32;
// When that many jobs wait for the next comparison of clocks, it is made early.
constexpr std::size_t kManyWaiting = 4096;
// For longer jobs, the start's own distance from a comparison of clocks is the better measure.
constexpr Nanoseconds kLongJob = 2 * CudaDevice::kAnchorEvery;
// The rounding error that may add up along back-to-back jobs before they are measured afresh.
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
      clock_(options.clock),
      api_(device_->api()),
      stream_(stream),
      shareWithin_(static_cast<Mark>(std::max<Nanoseconds>(options.shareWithin, 0))),
      queued_(2 * std::max<std::size_t>(options.events, 4)) {
  const CudaScope scope(api_, device_->index(), CudaScope::Thread::kPrograms);
  pool_.emplace(api_, device_->stream(), options.events);
}

CudaStream::~CudaStream() {
  const CudaScope scope(api_, device_->index(), CudaScope::Thread::kPrograms);
  if (isDead_.load(std::memory_order_relaxed)) pool_->abandon();
  pool_.reset();
}

std::string CudaStream::gpuUuid() {
  CudaApi::Uuid uuid{};
  if (!api_.deviceUuid(device_->index(), uuid)) return {};
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text = "GPU";
  for (std::size_t i = 0; i < uuid.size(); ++i) {
    if (i % 2 == 0 && i <= 10 && i != 2) text += '-';  // before the bytes 0, 4, 6, 8 and 10
    text += kDigits[uuid[i] >> 4];
    text += kDigits[uuid[i] & 15];
  }
  return text;
}

void CudaStream::useClock(const HostClock& clock) noexcept {
  ticks_ = &clock;
  readsTsc_ = clock.source() == TickSource::kTsc;
  constexpr std::uint64_t kTicks = 1'000'000;
  const Nanoseconds length = std::max<Nanoseconds>(clock.roughly(kTicks), 1);
  shareWithin_ = shareWithin_ * kTicks / static_cast<Mark>(length);
}

DeviceStream::Mark CudaStream::slowNow() noexcept {
  return ticks_ != nullptr ? ticks_->ticks() : static_cast<Mark>(api_.hostNow());
}

inline DeviceStream::Mark CudaStream::newMark() noexcept {
  const Mark now = readsTsc_ ? ticksNow(TickSource::kTsc) : slowNow();
  lastMark_ = std::max(lastMark_ + 1, now);
  return lastMark_;
}

inline EventPool::Index CudaStream::record() noexcept {
  const EventPool::Index event = pool_->take();
  if (event == EventPool::kNone) [[unlikely]] {
    add(exhausted_);
    return event;
  }
  const Status status = api_.record(pool_->at(event), stream_);
  if (status != Status::kOk) [[unlikely]]
    return refused(status);
  refusals_ = 0;
  return event;
}

EventPool::Index CudaStream::refused(Status status) noexcept {
  pool_->untake();
  if (status == Status::kCapturing) {
    add(captured_);
  } else {
    add(refused_);
    if (++refusals_ >= kMostRefusals) isDead_.store(true, std::memory_order_relaxed);
  }
  return EventPool::kNone;
}

/// Loses the job that begins: its times will never be known.
void CudaStream::lose() noexcept {
  if (!isDead_.load(std::memory_order_relaxed)) add(exhausted_, 2);
  isLost_ = true;
  shareUntil_ = 0;
}

/// Whether the last end was marked on this thread.
bool CudaStream::isOwnEnd() noexcept {
  if (endedBy_ == thisThread()) return true;
  shareUntil_ = 0;
  return false;
}

DeviceStream::Mark CudaStream::markStart() noexcept {
  const Mark start = newMark();
  if (isDead_.load(std::memory_order_relaxed) || queued_.isFull()) [[unlikely]] {
    lose();
    return start;
  }
  queued_.prefetch();
  Queued& job = queued_.next();
  job.start = start;
  if (start <= shareUntil_ && isOwnEnd()) {
    add(shared_);
    late_ = 0;
    job.startEvent = kShared;
  } else {
    ++late_;
    job.startEvent = record();
  }
  isLost_ = false;
  return start;
}

DeviceStream::Mark CudaStream::mark() noexcept {
  if (isLost_ || isDead_.load(std::memory_order_relaxed)) [[unlikely]]
    return newMark();
  const EventPool::Index event = record();
  Queued& job = queued_.next();
  job.endEvent = event;
  if (late_ > kMostLate && late_ % kMostLate != 0) {
    const Mark end = ++lastMark_;
    job.end = end;
    queued_.publish();
    return end;
  }
  // Read after the record, which can take longer than CudaStreamOptions::shareWithin.
  const Mark end = newMark();
  job.end = end;
  queued_.publish();
  shareUntil_ = event != EventPool::kNone ? end + shareWithin_ : 0;
  endedBy_ = thisThread();
  return end;
}

void CudaStream::poll(bool hurry) noexcept {
  const CudaScope scope(api_, device_->index(), CudaScope::Thread::kOurs);
  if (!scope.isThere()) fail();
  if (isDead_.load(std::memory_order_relaxed)) {
    giveUp();
    return;
  }
  device_->poll(false);
  for (const Queued* job = queued_.front(); job != nullptr && isFinished(*job);
       job = queued_.front()) {
    queued_.pop();
  }
  const bool isWaiting = newest_ > device_->clock().last().device;
  if (isWaiting && (hurry || known_.size() > kManyWaiting)) device_->poll(true);
}

/// Whether the device has reached the job's end; no other event is queried.
bool CudaStream::isFinished(const Queued& job) noexcept {
  if (job.endEvent == EventPool::kNone) {
    keepJob(job, kUnknown, kUnknown);
    return true;
  }
  const Status status = api_.query(pool_->at(job.endEvent));
  if (status == Status::kNotReady) return false;
  if (status == Status::kOk) {
    time(job);
  } else {
    fail();
    keepJob(job, kUnknown, kUnknown);
  }
  return true;
}

void CudaStream::time(const Queued& job) noexcept {
  BoundedTime start = kUnknown;
  BoundedTime end;
  bool worked = device_->deviceTime(pool_->at(job.endEvent), end);
  if (worked && job.startEvent == kShared) {
    worked = timeAfterLastEnd(job, start, end);
  } else if (worked && job.startEvent != EventPool::kNone) {
    worked = timeOwnStart(job, start, end);
  }
  if (worked) {
    failures_ = 0;
    keepJob(job, start, end);
  } else {
    fail();
    keepJob(job, kUnknown, kUnknown);
  }
}

/// The job begins where the one before ended, to the nanosecond, and lasts as long as the runtime
/// says, as far as rounding allows. `end` comes in as measured by itself.
bool CudaStream::timeAfterLastEnd(const Queued& job, BoundedTime& start,
                                  BoundedTime& end) noexcept {
  start = lastEnd_;
  if (start.time == kLost) return true;
  BoundedTime duration;
  if (!device_->elapsed(pool_->at(lastEndEvent_), pool_->at(job.endEvent), duration)) return false;
  const Nanoseconds bound = start.bound + duration.bound;
  if (bound > end.bound + kMostRounding) {
    end.time = std::max(end.time, start.time);
  } else {
    end = {.time = start.time + duration.time, .bound = bound};
  }
  return true;
}

bool CudaStream::timeOwnStart(const Queued& job, BoundedTime& start,
                              const BoundedTime& end) noexcept {
  const CudaApi::Event event = pool_->at(job.startEvent);
  BoundedTime duration;
  if (!device_->elapsed(event, pool_->at(job.endEvent), duration)) return false;
  start = {.time = end.time - duration.time, .bound = end.bound + duration.bound};
  return duration.time <= kLongJob || device_->deviceTime(event, start);
}

void CudaStream::keepJob(const Queued& job, const BoundedTime& start, const BoundedTime& end) {
  known_.add({.start = job.start, .end = job.end, .startTime = start, .endTime = end});
  add(lost_, (start.time == kLost ? 1 : 0) + (end.time == kLost ? 1 : 0));
  if (start.time != kLost) newest_ = start.time;
  if (end.time != kLost) newest_ = end.time;
  // Events come free in order, so one frees those before it. The end's is kept until the next job
  // is known, which may have to be measured from it.
  if (job.startEvent != kShared && job.startEvent != EventPool::kNone) {
    pool_->releaseUpTo(job.startEvent);
  } else if (lastEndEvent_ != EventPool::kNone) {
    pool_->releaseUpTo(lastEndEvent_);
  }
  lastEnd_ = end;
  lastEndEvent_ = job.endEvent;
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
  for (; const Queued* job = queued_.front(); queued_.pop()) {
    keepJob(*job, kUnknown, kUnknown);
  }
}

bool CudaStream::isOnItsWay(Mark mark) noexcept {
  const Queued* const next = queued_.front();
  return next != nullptr && next->start <= mark;
}

bool CudaStream::resolve(Mark mark, BoundedTime& time) noexcept {
  time = kUnknown;
  const BoundedTime* const known = known_.find(mark);
  if (known == nullptr) return !isOnItsWay(mark);
  if (known->time == kLost) return true;
  if (!device_->clock().toHost(known->time, time)) {
    time = kUnknown;
    return isDead_.load(std::memory_order_relaxed);
  }
  time.bound += known->bound;
  // Interpolation between other anchors must not let a job begin before the end of the one before
  // it.
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
  return {.records = static_cast<std::int64_t>(pool_->taken()),
          .shared = read(shared_),
          .exhausted = read(exhausted_),
          .captured = read(captured_),
          .refused = read(refused_),
          .lost = read(lost_),
          .worstBound = read(worstBound_)};
}

}  // namespace pipetrace
