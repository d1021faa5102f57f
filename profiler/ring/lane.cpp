#include "profiler/ring/lane.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>

namespace pipetrace {
namespace {

namespace rf = ring_format;

constexpr std::int64_t kIdBlock = 64;
constexpr std::uint64_t kInterrupted = 64;  // times the mean

std::uint64_t costOfTicks(TickSource source) {
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  for (int i = 0; i < 64; ++i) {
    const std::uint64_t start = ticksNow(source);
    least = std::min(least, ticksNow(source) - start);
  }
  return least;
}

}  // namespace

std::size_t Lane::roundedSlots(std::size_t wanted) {
  return std::bit_ceil(std::clamp<std::size_t>(wanted, 1, std::size_t{1} << 24));
}

Lane::Lane(const Options& options, std::unique_ptr<DeviceStream> stream, RingFile& file)
    : options_(options),
      piece_(file.extend(rf::laneSize(roundedSlots(options.slots)))),
      times_(reinterpret_cast<rf::Times*>(piece_.memory + sizeof(rf::LaneHeader) +
                                          roundedSlots(options.slots) * sizeof(rf::Slot))),
      tickCost_(costOfTicks(options.source)),
      stream_(std::move(stream)),
      mask_(roundedSlots(options.slots) - 1),
      header_(reinterpret_cast<rf::LaneHeader*>(piece_.memory)),
      slots_(reinterpret_cast<rf::Slot*>(piece_.memory + sizeof(rf::LaneHeader))),
      source_(options.source),
      readsTicks_(stream_->marksTicks() && !stream_->isAsynchronous()),
      isCompute_(options.isCompute),
      released_(mask_ / kBits + 1) {
  options_.name.copy(header_->name.data(), header_->name.size() - 1);
  header_->isCompute = options.isCompute ? 1 : 0;
  header_->marksTicks = stream_->marksTicks() ? 1 : 0;
  header_->isAsynchronous = stream_->isAsynchronous() ? 1 : 0;
}

void Lane::addTimed(std::uint64_t since) noexcept {
  const std::uint64_t all = ticksNow(source_) - since;
  const std::uint64_t took = all - std::min(all, tickCost_);
  const std::uint64_t sum = timedTicks_.load(std::memory_order_relaxed);
  const auto calls = 2 * static_cast<std::uint64_t>(timedJobs_.load(std::memory_order_relaxed));
  const std::uint64_t mean = calls == 0 ? took : sum / calls;
  // A call that takes this much longer than the others was interrupted. That is no cost of
  // recording, and it would stand for 63 jobs that were not interrupted.
  const bool isOurs = took <= kInterrupted * std::max(mean, tickCost_ + 1);
  add(timedTicks_, isOurs ? took : mean);
}

void Lane::drawBlock(std::atomic<std::int64_t>& next) noexcept {
  nextId_ = next.fetch_add(kIdBlock, std::memory_order_relaxed);
  idsUpTo_ = nextId_ + kIdBlock;
}

bool Lane::makeRoom() noexcept {
  // An exception may have skipped the end of the job before: that job is lost, this one counts.
  if (state_.load(std::memory_order_relaxed) != State::kIdle) {
    add<std::int64_t>(misuses_, 1);
    // The slot of the lost job is free.
    if (begun_ != finished_.load(std::memory_order_relaxed)) --begun_;
  }
  if (begun_ - knownFreed_ > mask_) {
    knownFreed_ = shared(header_->freed).load(std::memory_order_acquire);
    if (begun_ - knownFreed_ > mask_) {
      const auto dropped = shared(header_->dropped);
      dropped.store(dropped.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
      state_.store(State::kDropped, std::memory_order_relaxed);
      return false;
    }
  }
  return true;
}

void Lane::beginTimed(Job job, std::int64_t id, std::int32_t step, Phase phase) noexcept {
  const std::uint64_t start = ticksNow(source_);
  open(job, id, step, phase);
  addTimed(start);
}

void Lane::endTimed(std::int64_t bytes) noexcept {
  const std::uint64_t start = ticksNow(source_);
  close(now(), bytes);
  addTimed(start);
  add<std::int64_t>(timedJobs_, 1);
}

void Lane::endOfNone() noexcept {
  if (state_.load(std::memory_order_relaxed) == State::kIdle) add<std::int64_t>(misuses_, 1);
  // A job that is not recorded may be inside one that is.
  const bool isOpen = begun_ != finished_.load(std::memory_order_relaxed);
  state_.store(isOpen ? State::kOpen : State::kIdle, std::memory_order_relaxed);
}

void Lane::cancel() noexcept {
  if (state_.load(std::memory_order_relaxed) != State::kOpen) return endOfNone();
  --begun_;  // the next job has its slot
  shared(header_->begun).store(begun_, std::memory_order_release);
  state_.store(State::kIdle, std::memory_order_relaxed);
}

std::int64_t Lane::openJob() const noexcept {
  const auto begun = shared(header_->begun).load(std::memory_order_acquire);
  if (begun == finished_.load(std::memory_order_acquire)) return kNotGiven;
  const std::int64_t id = shared(slots_[(begun - 1) & mask_].id).load(std::memory_order_acquire);
  // The slot may have been taken for another job meanwhile.
  return shared(header_->begun).load(std::memory_order_relaxed) == begun ? id : kNotGiven;
}

void Lane::giveBack() noexcept {
  const std::uint64_t before = freed_;
  for (;;) {
    const std::size_t slot = freed_ & mask_;
    std::uint64_t& bits = released_[slot / kBits];
    const int run = std::countr_one(bits >> slot % kBits);
    if (run == 0) break;
    bits &= ~(~std::uint64_t{0} >> (kBits - static_cast<std::size_t>(run)) << slot % kBits);
    freed_ += static_cast<std::uint64_t>(run);
  }
  if (freed_ != before) shared(header_->freed).store(freed_, std::memory_order_release);
}

bool Lane::isCrowded() const noexcept { return finished() - freed_ > (mask_ + 1) / 2; }

std::int64_t Lane::dropped() const {
  return static_cast<std::int64_t>(shared(header_->dropped).load(std::memory_order_relaxed));
}

std::int64_t Lane::misuses() const {
  return misuses_.load(std::memory_order_relaxed) +
         (state_.load(std::memory_order_relaxed) == State::kOpen ? 1 : 0);
}

std::uint64_t Lane::ownTicks() const {
  const auto timed = static_cast<std::uint64_t>(timedJobs_.load(std::memory_order_relaxed));
  if (timed == 0) return 0;
  const std::uint64_t ticks = timedTicks_.load(std::memory_order_relaxed);
  const std::uint64_t jobs = finished();
  return ticks / timed * jobs + ticks % timed * jobs / timed;  // ticks * jobs could overflow
}

}  // namespace pipetrace
